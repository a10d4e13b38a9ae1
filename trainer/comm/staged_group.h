// StagedGroup: a Group of the CPU's kind for tensors of a GPU: they are carried by way of the host's memory.
#pragma once

#include <memory>

#include "trainer/comm/group.h"

namespace sailor::trainer {

// Messages between stages and in a change of plans go between nodes, often of different zones, over TCP: they have to
// come through the host anyway, and their tags let every receiver take them in its own order, which NCCL does not.
class StagedGroup : public Group {
 public:
  explicit StagedGroup(std::unique_ptr<Group> group) : group_(std::move(group)) {}

  [[nodiscard]] int size() const override { return group_->size(); }
  std::unique_ptr<Transfer> start_sum(const at::Tensor& tensor) override;
  std::unique_ptr<Transfer> start_sum_of_parts(const at::Tensor& parts, const at::Tensor& mine) override;
  std::unique_ptr<Transfer> start_gather(const at::Tensor& mine, const at::Tensor& parts) override;
  void max(const at::Tensor& tensor) override;
  void set_timeout(std::chrono::milliseconds timeout) override { group_->set_timeout(timeout); }
  std::unique_ptr<Transfer> send(const at::Tensor& tensor, int to, int tag) override;
  std::unique_ptr<Transfer> receive(const at::Tensor& into, int from, int tag) override;

 private:
  std::unique_ptr<Group> group_;
};

}  // namespace sailor::trainer
