// UntimedGroup: another group's work, during which a stopwatch does not run. The members of a tensor-parallel group
// wait for the slowest of them in its collectives, so only the time without the collectives shows which member is slow.
#pragma once

#include <memory>

#include "trainer/comm/group.h"
#include "trainer/device/stopwatch.h"

namespace sailor::trainer {

class UntimedGroup : public Group {
 public:
  // `watch` outlives this object and the work that it starts.
  UntimedGroup(std::unique_ptr<Group> group, Stopwatch& watch) : group_(std::move(group)), watch_(watch) {}

  [[nodiscard]] int size() const override { return group_->size(); }
  std::unique_ptr<Work> start_all_reduce(const at::Tensor& tensor) override;
  std::unique_ptr<Work> start_reduce_scatter(const at::Tensor& input, const at::Tensor& output) override;
  std::unique_ptr<Work> start_all_gather(const at::Tensor& input, const at::Tensor& output) override;
  void all_reduce_max(const at::Tensor& tensor) override;
  void set_timeout(std::chrono::milliseconds timeout) override { group_->set_timeout(timeout); }
  std::unique_ptr<Work> send(const at::Tensor& tensor, int to, int tag) override;
  std::unique_ptr<Work> receive(const at::Tensor& into, int from, int tag) override;

 private:
  std::unique_ptr<Group> group_;
  Stopwatch& watch_;
};

}  // namespace sailor::trainer
