// DelegatingGroup: another group's work, for tests that change one operation of it.
#pragma once

#include <memory>
#include <utility>

#include "trainer/comm/group.h"

namespace sailor::trainer::testing {

class DelegatingGroup : public Group {
 public:
  explicit DelegatingGroup(std::shared_ptr<Group> group) : group_(std::move(group)) {}
  // `group` outlives this object.
  explicit DelegatingGroup(Group& group) : group_(&group, [](Group*) {}) {}

  [[nodiscard]] int size() const override { return group_->size(); }
  std::unique_ptr<Work> start_all_reduce(const at::Tensor& tensor) override { return group_->start_all_reduce(tensor); }
  std::unique_ptr<Work> start_reduce_scatter(const at::Tensor& input, const at::Tensor& output) override {
    return group_->start_reduce_scatter(input, output);
  }
  std::unique_ptr<Work> start_all_gather(const at::Tensor& input, const at::Tensor& output) override {
    return group_->start_all_gather(input, output);
  }
  void all_reduce_max(const at::Tensor& tensor) override { group_->all_reduce_max(tensor); }
  void set_timeout(std::chrono::milliseconds timeout) override { group_->set_timeout(timeout); }
  std::unique_ptr<Work> send(const at::Tensor& tensor, int to, int tag) override {
    return group_->send(tensor, to, tag);
  }
  std::unique_ptr<Work> receive(const at::Tensor& into, int from, int tag) override {
    return group_->receive(into, from, tag);
  }

 private:
  std::shared_ptr<Group> group_;
};

}  // namespace sailor::trainer::testing
