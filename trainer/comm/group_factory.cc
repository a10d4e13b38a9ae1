#include "trainer/comm/group_factory.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "core/model/check.h"
#include "trainer/comm/backend_error.h"
#include "trainer/comm/collective_only_group.h"
#include "trainer/comm/connect_device_backend.h"
#include "trainer/comm/gloo.h"
#include "trainer/comm/host_copy_group.h"
#include "trainer/comm/nccl.h"
#include "trainer/device/device.h"

namespace sailor::trainer {
namespace {

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

}  // namespace

GroupFactory::GroupFactory(Rendezvous& rendezvous, std::string host, int rank, std::chrono::milliseconds timeout,
                           GroupOptions options)
    : rendezvous_(rendezvous),
      host_(std::move(host)),
      rank_(rank),
      timeout_(timeout),
      options_(std::move(options)),
      interrupt_(options_.interrupt ? options_.interrupt : std::make_shared<Interrupt>()) {
  if (!options_.make_device_backend && !compute_device().is_cpu()) options_.make_device_backend = make_nccl_backend;
}

std::unique_ptr<Group> GroupFactory::make_collective_group(const std::string& name, const std::vector<int>& ranks) {
  return make_group(name, ranks, options_.make_device_backend ? Type::kDevice : Type::kGloo);
}

std::unique_ptr<Group> GroupFactory::make_message_group(const std::string& name, const std::vector<int>& ranks) {
  auto group = make_group(name, ranks, Type::kGloo);
  if (compute_device().is_cpu()) return group;
  return std::make_unique<HostCopyGroup>(std::move(group), host_copies_of_compute_device());
}

std::unique_ptr<Group> GroupFactory::make_message_group(const std::string& name, int workers) {
  std::vector<int> ranks(static_cast<std::size_t>(workers));
  std::iota(ranks.begin(), ranks.end(), 0);
  return make_message_group(name, ranks);
}

std::unique_ptr<Group> GroupFactory::make_group(const std::string& name, const std::vector<int>& ranks, Type type) {
  if (ranks.size() == 1) return std::make_unique<SingleMemberGroup>();
  const auto found = std::ranges::find(ranks, rank_);
  SAILOR_CHECK(found != ranks.end(), "rank {} is not a member of group {}, which it connects", rank_, name);
  const BackendMembership membership{.store = c10::make_intrusive<c10d::PrefixStore>(name, rendezvous_.store()),
                                     .index = static_cast<int>(found - ranks.begin()),
                                     .size = static_cast<int>(ranks.size())};
  std::vector<Member> members;
  members.reserve(ranks.size());
  for (const int rank : ranks) {
    const auto& names = options_.names;
    members.push_back({rank, names.empty() ? fmt::format("rank {}", rank) : names.at(static_cast<std::size_t>(rank))});
  }
  auto connection =
      type == Type::kDevice ? connect_device({name, membership, members}) : connect_gloo(name, membership);
  return std::make_unique<BackendGroup>(name, std::move(members), std::move(connection), timeout_, interrupt_);
}

Connection GroupFactory::connect_gloo(const std::string& name, const BackendMembership& membership) {
  return translate_errors(fmt::format("connecting group {}", name), [&] {
    if (!gloo_device_) gloo_device_ = make_gloo_device(host_);
    return trainer::connect_gloo(membership, timeout_, gloo_device_);
  });
}

Connection GroupFactory::connect_device(const DeviceGroup& group) {
  const auto timeout = options_.connect_timeout.value_or(timeout_);
  auto backend = connect_device_backend(options_.make_device_backend, group, rendezvous_, timeout, *interrupt_);
  if (!watch_) watch_ = std::make_shared<CollectiveWatch>(interrupt_);
  return {.backend = backend, .abort = [backend] { backend->abort(); }, .watch = watch_};
}

}  // namespace sailor::trainer
