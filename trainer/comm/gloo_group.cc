// Makes groups: of Gloo between CPUs, and groups of one.
#include <algorithm>
#include <cstdlib>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "planner/model/check.h"
#include "trainer/comm/backend_group.h"
#include "trainer/comm/rendezvous_impl.h"

namespace sailor::trainer {
namespace {

// LibTorch's flight recorder notes every collective with a stack trace, and its first note of a group is not guarded:
// two groups that begin in two threads at once corrupt its map. Nobody reads it here. Before main, as it is asked once.
[[maybe_unused]] const int kWithoutFlightRecorder = setenv("TORCH_FR_BUFFER_SIZE", "0", /*overwrite=*/0);

class Done : public Transfer {
 public:
  void wait() override {}
};

// A group of one has nobody to talk to.
class SoleGroup : public Group {
 public:
  [[nodiscard]] int size() const override { return 1; }
  std::unique_ptr<Transfer> start_sum(const at::Tensor&) override { return std::make_unique<Done>(); }
  std::unique_ptr<Transfer> start_sum_of_parts(const at::Tensor& parts, const at::Tensor& mine) override {
    mine.copy_(parts);
    return std::make_unique<Done>();
  }
  std::unique_ptr<Transfer> start_gather(const at::Tensor& mine, const at::Tensor& parts) override {
    parts.copy_(mine);
    return std::make_unique<Done>();
  }
  void max(const at::Tensor&) override {}
  std::unique_ptr<Transfer> send(const at::Tensor&, int to, int) override {
    SAILOR_CHECK(false, "a group of one sends to rank {}", to);
  }
  std::unique_ptr<Transfer> receive(const at::Tensor&, int from, int) override {
    SAILOR_CHECK(false, "a group of one receives from rank {}", from);
  }
};

}  // namespace

GroupFactory::GroupFactory(Rendezvous& rendezvous, std::string host, int rank, std::chrono::milliseconds timeout,
                           std::vector<std::string> names)
    : rendezvous_(rendezvous), host_(std::move(host)), rank_(rank), timeout_(timeout), names_(std::move(names)) {}

std::unique_ptr<Group> GroupFactory::make(const std::string& name, const std::vector<int>& ranks) {
  if (ranks.size() == 1) return std::make_unique<SoleGroup>();
  const auto found = std::ranges::find(ranks, rank_);
  SAILOR_CHECK(found != ranks.end(), "rank {} makes group {} without being in it", rank_, name);
  auto backend = guarded(fmt::format("connecting group {}", name), [&] {
    if (!device_) device_ = c10d::ProcessGroupGloo::createDeviceForHostname(host_);
    auto options = c10d::ProcessGroupGloo::Options::create(timeout_);
    options->devices = {std::static_pointer_cast<gloo::transport::Device>(device_)};
    options->threads = 1;
    auto store = c10::make_intrusive<c10d::PrefixStore>(name, rendezvous_.impl_->store);
    return c10::make_intrusive<c10d::ProcessGroupGloo>(store, static_cast<int>(found - ranks.begin()),
                                                       static_cast<int>(ranks.size()), options);
  });
  std::vector<Member> members;
  for (const int rank : ranks) {
    members.push_back(
        {rank, names_.empty() ? fmt::format("rank {}", rank) : names_.at(static_cast<std::size_t>(rank))});
  }
  return std::make_unique<BackendGroup>(name, std::move(members), std::move(backend));
}

}  // namespace sailor::trainer
