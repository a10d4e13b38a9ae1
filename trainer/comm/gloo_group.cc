// Makes groups: of Gloo, of NCCL (nccl.h), and groups of one.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <limits>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "core/model/check.h"
#include "trainer/comm/backend_group.h"
#include "trainer/comm/collectives_only.h"
#include "trainer/comm/nccl.h"
#include "trainer/comm/rendezvous_impl.h"
#include "trainer/comm/staged_group.h"
#include "trainer/device.h"

namespace sailor::trainer {
namespace {

// LibTorch's flight recorder notes every collective with a stack trace, and its first note of a group is not guarded:
// two groups that begin in two threads at once corrupt its map. Nobody reads it here. Before main, as it is asked once.
[[maybe_unused]] const int kWithoutFlightRecorder = setenv("TORCH_FR_BUFFER_SIZE", "0", /*overwrite=*/0);

// A peer that is gone is an error of the write, which names it; the signal would end the survivor too. Here, so that it
// holds in every program that talks to peers, its tests included.
[[maybe_unused]] const auto kBrokenPipesAreErrors = std::signal(SIGPIPE, SIG_IGN);

// A group of one has nobody to talk to.
class SoleGroup : public CollectivesOnly {
 public:
  [[nodiscard]] int size() const override { return 1; }
  std::unique_ptr<Transfer> start_sum(const at::Tensor&) override { return done(); }
  std::unique_ptr<Transfer> start_sum_of_parts(const at::Tensor& parts, const at::Tensor& mine) override {
    mine.copy_(parts);
    return done();
  }
  std::unique_ptr<Transfer> start_gather(const at::Tensor& mine, const at::Tensor& parts) override {
    parts.copy_(mine);
    return done();
  }
  void max(const at::Tensor&) override {}
};

// A receive that nobody ever sends for, so that it can be given up: then Gloo closes all connections of the group, and
// all that waits for them ends. It has no call for that of its own. From any member, for a receive from one would end
// with that one's connection and leave the others as they are.
std::function<void()> gives_up(c10d::Backend& backend) {
  constexpr int kTagOfNothing = std::numeric_limits<int>::max();
  constexpr std::chrono::milliseconds kAtOnce{1};
  std::vector<at::Tensor> nothing = {at::empty({1})};
  return [receive = backend.recvAnysource(nothing, kTagOfNothing), kAtOnce] {
    try {
      receive->wait(kAtOnce);
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): that it ends is what is wanted
    }
  };
}

Connection connect_gloo(const BackendPlace& place, std::chrono::milliseconds timeout,
                        const std::shared_ptr<void>& device) {
  auto options = c10d::ProcessGroupGloo::Options::create(timeout);
  options->devices = {std::static_pointer_cast<gloo::transport::Device>(device)};
  options->threads = 1;
  auto backend = c10::make_intrusive<c10d::ProcessGroupGloo>(place.store, place.index, place.size, options);
  return {backend, gives_up(*backend)};
}

Connection connect_nccl(const BackendPlace& place, std::chrono::milliseconds timeout) {
  auto backend = make_nccl_backend(place, timeout);
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

std::unique_ptr<Group> GroupFactory::make(const std::string& name, const std::vector<int>& ranks) {
  return connected(name, ranks, compute_device().is_cpu() ? Carrier::kGloo : Carrier::kNccl);
}

std::unique_ptr<Group> GroupFactory::make_messages(const std::string& name, const std::vector<int>& ranks) {
  auto group = connected(name, ranks, Carrier::kGloo);
  return compute_device().is_cpu() ? std::move(group) : std::make_unique<StagedGroup>(std::move(group));
}

std::unique_ptr<Group> GroupFactory::connected(const std::string& name, const std::vector<int>& ranks,
                                               Carrier carrier) {
  if (ranks.size() == 1) return std::make_unique<SoleGroup>();
  const auto found = std::ranges::find(ranks, rank_);
  SAILOR_CHECK(found != ranks.end(), "rank {} makes group {} without being in it", rank_, name);
  auto connection = guarded(fmt::format("connecting group {}", name), [&] {
    const BackendPlace place{.store = c10::make_intrusive<c10d::PrefixStore>(name, rendezvous_.impl_->store),
                             .index = static_cast<int>(found - ranks.begin()),
                             .size = static_cast<int>(ranks.size())};
    if (carrier == Carrier::kNccl) return connect_nccl(place, timeout_);
    if (!device_) device_ = c10d::ProcessGroupGloo::createDeviceForHostname(host_);
    return connect_gloo(place, timeout_, device_);
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
