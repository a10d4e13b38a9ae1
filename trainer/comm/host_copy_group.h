// HostCopyGroup: a group for GPU tensors over a backend that takes CPU tensors only. It copies them to and from host
// memory.
#pragma once

#include <memory>

#include "trainer/comm/group.h"

namespace sailor::trainer {

// It carries the messages between pipeline stages and the state that moves when the plan changes. They travel between
// nodes over TCP, often between zones, so they pass through host memory anyway. Each receiver can take them in its own
// order because they have tags, which NCCL does not support.
class HostCopyGroup : public Group {
 public:
  explicit HostCopyGroup(std::unique_ptr<Group> group) : group_(std::move(group)) {}

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
};

}  // namespace sailor::trainer
