// DelegatingGroup: another group's work, for tests that change one operation of it.
#pragma once

#include <memory>
#include <utility>

#include "trainer/comm/group.h"

namespace sailor::trainer::testing {

class DelegatingGroup : public Group {
 public:
  explicit DelegatingGroup(std::unique_ptr<Group> group) : group_(std::move(group)) {}

  [[nodiscard]] int size() const override { return group_->size(); }
  std::unique_ptr<Transfer> start_sum(const at::Tensor& tensor) override { return group_->start_sum(tensor); }
  std::unique_ptr<Transfer> start_sum_of_parts(const at::Tensor& parts, const at::Tensor& mine) override {
    return group_->start_sum_of_parts(parts, mine);
  }
  std::unique_ptr<Transfer> start_gather(const at::Tensor& mine, const at::Tensor& parts) override {
    return group_->start_gather(mine, parts);
  }
  void max(const at::Tensor& tensor) override { group_->max(tensor); }
  void set_timeout(std::chrono::milliseconds timeout) override { group_->set_timeout(timeout); }
  std::unique_ptr<Transfer> send(const at::Tensor& tensor, int to, int tag) override {
    return group_->send(tensor, to, tag);
  }
  std::unique_ptr<Transfer> receive(const at::Tensor& into, int from, int tag) override {
    return group_->receive(into, from, tag);
  }

 private:
  std::unique_ptr<Group> group_;
};

}  // namespace sailor::trainer::testing
