// HostCopyGroup: a group for GPU tensors over a backend that takes CPU tensors only. It copies them to and from host
// memory.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "trainer/comm/group.h"
#include "trainer/device/host_copies.h"

namespace sailor::trainer {

// It carries the messages between pipeline stages and the state that moves when the plan changes. They travel between
// nodes over TCP, often between zones, so they pass through host memory anyway. Each receiver can take them in its own
// order because they have tags, which NCCL does not support.
//
// Messages are copied beside the work of the device, and send() does not wait for the copy: a thread starts the sends,
// in order, as soon as each is copied. The memory of a copy is free again when the message's Work is destroyed.
// Collectives are for small tensors, and wait for their copies.
class HostCopyGroup : public Group {
 public:
  HostCopyGroup(std::unique_ptr<Group> group, std::unique_ptr<HostCopies> copies);

  [[nodiscard]] int size() const override { return group_->size(); }
  std::unique_ptr<Work> start_all_reduce(const at::Tensor& tensor) override;
  std::unique_ptr<Work> start_reduce_scatter(const at::Tensor& input, const at::Tensor& output) override;
  std::unique_ptr<Work> start_all_gather(const at::Tensor& input, const at::Tensor& output) override;
  void all_reduce_max(const at::Tensor& tensor) override;
  void set_timeout(std::chrono::milliseconds timeout) override;
  std::unique_ptr<Work> send(const at::Tensor& tensor, int to, int tag) override;
  std::unique_ptr<Work> receive(const at::Tensor& into, int from, int tag) override;

 private:
  void start_sends(const std::stop_token& stop);

  std::unique_ptr<HostCopies> copies_;
  std::mutex group_mutex_;  // the timeout may change while the thread starts a send
  std::unique_ptr<Group> group_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> sends_;  // each waits for its copy, and starts its send
  std::jthread thread_;                      // declared last because it uses the other members
};

}  // namespace sailor::trainer
