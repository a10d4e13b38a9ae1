#include "trainer/comm/host_copy_group.h"

#include <future>
#include <utility>

#include <ATen/ATen.h>

namespace sailor::trainer {
namespace {

// Copies the result from host memory to its destination once it has arrived.
class CopyBack : public Work {
 public:
  CopyBack(std::unique_ptr<Work> work, std::function<void()> copy) : work_(std::move(work)), copy_(std::move(copy)) {}

  void wait() override {
    work_->wait();
    if (auto copy = std::exchange(copy_, nullptr)) copy();
  }

 private:
  std::unique_ptr<Work> work_;
  std::function<void()> copy_;
};

// A send that starts when its message is copied.
class LaterSend : public Work {
 public:
  explicit LaterSend(std::future<std::unique_ptr<Work>> started) : started_(std::move(started)) {}

  void wait() override {
    if (!work_) work_ = started_.get();  // throws what the start has thrown
    work_->wait();
  }

 private:
  std::future<std::unique_ptr<Work>> started_;
  std::unique_ptr<Work> work_;
};

at::Tensor host_buffer_for(const at::Tensor& tensor) {
  return tensor.is_cpu() ? tensor : at::empty(tensor.sizes(), tensor.options().device(at::kCPU));
}

// Returns a function that copies the result of a collective to its destination, or null if it is there already.
std::function<void()> copy_back(const at::Tensor& host, const at::Tensor& destination) {
  if (host.is_same(destination)) return nullptr;
  return [host, destination] { destination.copy_(host); };
}

}  // namespace

HostCopyGroup::HostCopyGroup(std::unique_ptr<Group> group, std::unique_ptr<HostCopies> copies)
    : copies_(std::move(copies)),
      group_(std::move(group)),
      thread_([this](const std::stop_token& stop) { start_sends(stop); }) {}

std::unique_ptr<Work> HostCopyGroup::start_all_reduce(const at::Tensor& tensor) {
  const at::Tensor host = tensor.cpu();
  return std::make_unique<CopyBack>(group_->start_all_reduce(host), copy_back(host, tensor));
}

std::unique_ptr<Work> HostCopyGroup::start_reduce_scatter(const at::Tensor& input, const at::Tensor& output) {
  const at::Tensor host = host_buffer_for(output);
  return std::make_unique<CopyBack>(group_->start_reduce_scatter(input.cpu(), host), copy_back(host, output));
}

std::unique_ptr<Work> HostCopyGroup::start_all_gather(const at::Tensor& input, const at::Tensor& output) {
  const at::Tensor host = host_buffer_for(output);
  return std::make_unique<CopyBack>(group_->start_all_gather(input.cpu(), host), copy_back(host, output));
}

void HostCopyGroup::all_reduce_max(const at::Tensor& tensor) {
  const at::Tensor host = tensor.cpu();
  group_->all_reduce_max(host);
  if (!host.is_same(tensor)) tensor.copy_(host);
}

void HostCopyGroup::set_timeout(std::chrono::milliseconds timeout) {
  const std::lock_guard lock(group_mutex_);
  group_->set_timeout(timeout);
}

std::unique_ptr<Work> HostCopyGroup::send(const at::Tensor& tensor, int to, int tag) {
  if (!copies_->is_on_device(tensor)) return group_->send(tensor, to, tag);
  const at::Tensor host = copies_->host_memory_for(tensor);
  auto copied = copies_->start_to_host(tensor, host);
  auto start = std::make_shared<std::packaged_task<std::unique_ptr<Work>()>>([this, host, copied, to, tag] {
    copied();
    const std::lock_guard lock(group_mutex_);
    return group_->send(host, to, tag);
  });
  auto later = std::make_unique<LaterSend>(start->get_future());
  const std::lock_guard lock(mutex_);
  sends_.emplace_back([start] { (*start)(); });
  changed_.notify_all();
  return later;
}

std::unique_ptr<Work> HostCopyGroup::receive(const at::Tensor& into, int from, int tag) {
  if (!copies_->is_on_device(into)) return group_->receive(into, from, tag);
  const at::Tensor host = copies_->host_memory_for(into);
  auto copy = copies_->prepare_to_device(host, into);
  return std::make_unique<CopyBack>(group_->receive(host, from, tag), std::move(copy));
}

void HostCopyGroup::start_sends(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [&] { return !sends_.empty(); })) {
    auto send = std::move(sends_.front());
    sends_.pop_front();
    lock.unlock();
    send();
    send = nullptr;  // its message is free without the lock
    lock.lock();
  }
}

}  // namespace sailor::trainer
