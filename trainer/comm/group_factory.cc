#include "trainer/comm/group_factory.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <future>
#include <limits>
#include <numeric>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <sched.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "core/log/log.h"
#include "core/model/check.h"
#include "trainer/comm/backend_group.h"
#include "trainer/comm/collective_only_group.h"
#include "trainer/comm/host_copy_group.h"
#include "trainer/comm/nccl.h"
#include "trainer/device/device.h"

namespace sailor::trainer {
namespace {

// LibTorch's flight recorder notes every collective with a stack trace. Its first note of a group is not guarded by a
// lock: two groups that start in two threads at once corrupt its map. The trainer does not use it. It is switched off
// before main(), because LibTorch reads the variable only once.
[[maybe_unused]] const int kWithoutFlightRecorder = setenv("TORCH_FR_BUFFER_SIZE", "0", /*overwrite=*/0);

// A lost peer should show up as an error of the write, which names the peer; the signal would end the survivor too. It
// is ignored here so that this holds in every program that communicates, its tests included.
[[maybe_unused]] const auto kBrokenPipesAreErrors = std::signal(SIGPIPE, SIG_IGN);

class SingleMemberGroup : public CollectiveOnlyGroup {
 public:
  [[nodiscard]] int size() const override { return 1; }
  std::unique_ptr<Work> start_all_reduce(const at::Tensor&) override { return completed(); }
  std::unique_ptr<Work> start_reduce_scatter(const at::Tensor& input, const at::Tensor& output) override {
    output.copy_(input);
    return completed();
  }
  std::unique_ptr<Work> start_all_gather(const at::Tensor& input, const at::Tensor& output) override {
    output.copy_(input);
    return completed();
  }
  void all_reduce_max(const at::Tensor&) override {}
};

// Gloo has no call that aborts a group. But when a receive times out, Gloo closes all connections of the group, and
// most waits in it end. So this posts a receive for which no peer ever sends, and lets it time out when the group is
// to be aborted. The receive accepts any sender: if it named one, only the connection to that peer would be closed.
std::function<void()> abort_of_gloo(c10d::Backend& backend) {
  constexpr int kUnusedTag = std::numeric_limits<int>::max();
  constexpr std::chrono::milliseconds kAtOnce{1};
  std::vector<at::Tensor> nothing = {at::empty({1})};
  return [receive = backend.recvAnysource(nothing, kUnusedTag), kAtOnce] {
    try {
      receive->wait(kAtOnce);
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the timeout is the purpose of this wait
    }
  };
}

// Runs a function that starts threads of Gloo, on a thread with the policy that they inherit.
//
// While one thread holds the lock of a connection that has data, the thread that receives for it polls without a pause.
// It must not do so on the core of the lock's holder, so a message that arrives must not preempt the running thread.
// That is what SCHED_BATCH means.
template <class Function>
auto without_preemption(Function function) {
  return std::async(std::launch::async,
                    [&] {
                      const sched_param no_priority{};
                      if (sched_setscheduler(0, SCHED_BATCH, &no_priority) != 0) {
                        log_warning(
                            "cannot set the scheduling policy of communication threads, so steps may take longer",
                            {{"why", std::strerror(errno)}});
                      }
                      return function();
                    })
      .get();
}

Connection connect_gloo(const BackendMembership& membership, std::chrono::milliseconds timeout,
                        const std::shared_ptr<void>& device) {
  auto options = c10d::ProcessGroupGloo::Options::create(timeout);
  options->devices = {std::static_pointer_cast<gloo::transport::Device>(device)};
  options->threads = 1;
  auto backend = without_preemption([&] {
    return c10::make_intrusive<c10d::ProcessGroupGloo>(membership.store, membership.index, membership.size, options);
  });
  return {backend, abort_of_gloo(*backend), /*aborts_single_messages=*/true};
}

Connection connect_nccl(const BackendMembership& membership, std::chrono::milliseconds timeout) {
  auto backend = make_nccl_backend(membership, timeout);
  return {backend, [backend] { backend->abort(); }};
}

}  // namespace

GroupFactory::GroupFactory(Rendezvous& rendezvous, std::string host, int rank, std::chrono::milliseconds timeout,
                           std::vector<std::string> names)
    : rendezvous_(rendezvous),
      host_(std::move(host)),
      rank_(rank),
      timeout_(timeout),
      names_(std::move(names)),
      interrupt_(std::make_shared<Interrupt>()) {}

std::unique_ptr<Group> GroupFactory::make_collective_group(const std::string& name, const std::vector<int>& ranks) {
  return connect(name, ranks, compute_device().is_cpu() ? BackendType::kGloo : BackendType::kNccl);
}

std::unique_ptr<Group> GroupFactory::make_message_group(const std::string& name, const std::vector<int>& ranks) {
  auto group = connect(name, ranks, BackendType::kGloo);
  return compute_device().is_cpu() ? std::move(group) : std::make_unique<HostCopyGroup>(std::move(group));
}

std::unique_ptr<Group> GroupFactory::make_message_group(const std::string& name, int workers) {
  std::vector<int> ranks(static_cast<std::size_t>(workers));
  std::iota(ranks.begin(), ranks.end(), 0);
  return make_message_group(name, ranks);
}

std::unique_ptr<Group> GroupFactory::connect(const std::string& name, const std::vector<int>& ranks, BackendType type) {
  if (ranks.size() == 1) return std::make_unique<SingleMemberGroup>();
  const auto found = std::ranges::find(ranks, rank_);
  SAILOR_CHECK(found != ranks.end(), "rank {} is not a member of group {}, which it connects", rank_, name);
  auto connection = translate_errors(fmt::format("connecting group {}", name), [&] {
    const BackendMembership membership{.store = c10::make_intrusive<c10d::PrefixStore>(name, rendezvous_.store()),
                                       .index = static_cast<int>(found - ranks.begin()),
                                       .size = static_cast<int>(ranks.size())};
    if (type == BackendType::kNccl) return connect_nccl(membership, timeout_);
    if (!gloo_device_) {
      gloo_device_ = without_preemption([&] { return c10d::ProcessGroupGloo::createDeviceForHostname(host_); });
    }
    return connect_gloo(membership, timeout_, gloo_device_);
  });
  std::vector<Member> members;
  members.reserve(ranks.size());
  for (const int rank : ranks) {
    members.push_back(
        {rank, names_.empty() ? fmt::format("rank {}", rank) : names_.at(static_cast<std::size_t>(rank))});
  }
  return std::make_unique<BackendGroup>(name, std::move(members), std::move(connection), timeout_, interrupt_);
}

}  // namespace sailor::trainer
