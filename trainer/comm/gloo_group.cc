// The Gloo implementation of Group.
#include <algorithm>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "planner/model/check.h"
#include "trainer/comm/group.h"
#include "trainer/comm/peer_lost.h"
#include "trainer/comm/rendezvous_impl.h"

namespace sailor::trainer {
namespace {

// Gloo begins its messages with the place in its sources, "[.../pair.cc:547] "; nobody who reads ours needs it.
std::string first_line(const std::string& text) {
  const auto end_of_place = text.starts_with('[') ? text.find("] ") : std::string::npos;
  const std::size_t begin = end_of_place == std::string::npos ? 0 : end_of_place + 2;
  return text.substr(begin, text.find('\n') - begin);
}

// Runs what Gloo does and gives its failures our type and one line.
template <class Action>
auto guarded(const std::string& doing, Action action) {
  try {
    return action();
  } catch (const std::exception& error) {
    throw PeerLost(fmt::format("{}: {}", doing, first_line(error.what())));
  }
}

class GlooTransfer : public Transfer {
 public:
  GlooTransfer(std::string doing, std::vector<at::Tensor> tensors, c10::intrusive_ptr<c10d::Work> work)
      : doing_(std::move(doing)), tensors_(std::move(tensors)), work_(std::move(work)) {}

  void wait() override {
    guarded(doing_, [&] { work_->wait(); });
  }

 private:
  std::string doing_;
  std::vector<at::Tensor> tensors_;
  c10::intrusive_ptr<c10d::Work> work_;
};

class GlooGroup : public Group {
 public:
  GlooGroup(std::string name, std::vector<int> ranks, c10::intrusive_ptr<c10d::ProcessGroupGloo> group)
      : name_(std::move(name)), ranks_(std::move(ranks)), group_(std::move(group)) {}

  [[nodiscard]] int size() const override { return static_cast<int>(ranks_.size()); }

  std::unique_ptr<Transfer> start_sum(const at::Tensor& tensor) override {
    return transfer(fmt::format("summing over group {}", name_), {tensor},
                    [&](std::vector<at::Tensor>& tensors) { return group_->allreduce(tensors); });
  }

  std::unique_ptr<Transfer> start_sum_of_parts(const at::Tensor& parts, const at::Tensor& mine) override {
    return transfer(fmt::format("summing parts over group {}", name_), {parts, mine},
                    [&](std::vector<at::Tensor>& tensors) {
                      return group_->_reduce_scatter_base(tensors[1], tensors[0], c10d::ReduceScatterOptions());
                    });
  }

  std::unique_ptr<Transfer> start_gather(const at::Tensor& mine, const at::Tensor& parts) override {
    return transfer(fmt::format("gathering over group {}", name_), {mine, parts},
                    [&](std::vector<at::Tensor>& tensors) {
                      return group_->_allgather_base(tensors[1], tensors[0], c10d::AllgatherOptions());
                    });
  }

  void max(const at::Tensor& tensor) override {
    c10d::AllreduceOptions options;
    options.reduceOp = c10d::ReduceOp::MAX;
    transfer(fmt::format("finding the largest in group {}", name_), {tensor}, [&](std::vector<at::Tensor>& tensors) {
      return group_->allreduce(tensors, options);
    })->wait();
  }

  std::unique_ptr<Transfer> send(const at::Tensor& tensor, int to, int tag) override {
    return transfer(fmt::format("sending to rank {} of group {}", to, name_), {tensor},
                    [&](std::vector<at::Tensor>& tensors) { return group_->send(tensors, index_of(to), tag); });
  }

  std::unique_ptr<Transfer> receive(const at::Tensor& into, int from, int tag) override {
    return transfer(fmt::format("receiving from rank {} of group {}", from, name_), {into},
                    [&](std::vector<at::Tensor>& tensors) { return group_->recv(tensors, index_of(from), tag); });
  }

 private:
  template <class Start>
  std::unique_ptr<Transfer> transfer(std::string doing, std::vector<at::Tensor> tensors, Start start) {
    auto work = guarded(doing, [&] { return start(tensors); });
    return std::make_unique<GlooTransfer>(std::move(doing), std::move(tensors), std::move(work));
  }

  [[nodiscard]] int index_of(int rank) const {
    const auto found = std::ranges::find(ranks_, rank);
    SAILOR_CHECK(found != ranks_.end(), "rank {} is not in group {}", rank, name_);
    return static_cast<int>(found - ranks_.begin());
  }

  std::string name_;
  std::vector<int> ranks_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
};

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

GroupFactory::GroupFactory(Rendezvous& rendezvous, std::string host, int rank, std::chrono::milliseconds timeout)
    : rendezvous_(rendezvous), host_(std::move(host)), rank_(rank), timeout_(timeout) {}

std::unique_ptr<Group> GroupFactory::make(const std::string& name, const std::vector<int>& ranks) {
  if (ranks.size() == 1) return std::make_unique<SoleGroup>();
  const auto found = std::ranges::find(ranks, rank_);
  SAILOR_CHECK(found != ranks.end(), "rank {} makes group {} without being in it", rank_, name);
  auto group = guarded(fmt::format("connecting group {}", name), [&] {
    auto options = c10d::ProcessGroupGloo::Options::create(timeout_);
    options->devices = {c10d::ProcessGroupGloo::createDeviceForHostname(host_)};
    options->threads = 1;
    auto store = c10::make_intrusive<c10d::PrefixStore>(name, rendezvous_.impl_->store);
    return c10::make_intrusive<c10d::ProcessGroupGloo>(store, static_cast<int>(found - ranks.begin()),
                                                       static_cast<int>(ranks.size()), options);
  });
  return std::make_unique<GlooGroup>(name, ranks, std::move(group));
}

}  // namespace sailor::trainer
