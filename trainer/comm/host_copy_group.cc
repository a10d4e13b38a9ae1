#include "trainer/comm/host_copy_group.h"

#include <ATen/ATen.h>

namespace sailor::trainer {
namespace {

// Copies the result from host memory to its destination once it has arrived.
class CopyBack : public Work {
 public:
  CopyBack(std::unique_ptr<Work> work, at::Tensor host, at::Tensor destination)
      : work_(std::move(work)), host_(std::move(host)), destination_(std::move(destination)) {}

  void wait() override {
    work_->wait();
    if (!host_.is_same(destination_)) destination_.copy_(host_);
  }

 private:
  std::unique_ptr<Work> work_;
  at::Tensor host_;
  at::Tensor destination_;
};

at::Tensor host_buffer_for(const at::Tensor& tensor) {
  return tensor.is_cpu() ? tensor : at::empty(tensor.sizes(), tensor.options().device(at::kCPU));
}

}  // namespace

std::unique_ptr<Work> HostCopyGroup::start_all_reduce(const at::Tensor& tensor) {
  const at::Tensor host = tensor.cpu();
  return std::make_unique<CopyBack>(group_->start_all_reduce(host), host, tensor);
}

std::unique_ptr<Work> HostCopyGroup::start_reduce_scatter(const at::Tensor& input, const at::Tensor& output) {
  const at::Tensor host = host_buffer_for(output);
  return std::make_unique<CopyBack>(group_->start_reduce_scatter(input.cpu(), host), host, output);
}

std::unique_ptr<Work> HostCopyGroup::start_all_gather(const at::Tensor& input, const at::Tensor& output) {
  const at::Tensor host = host_buffer_for(output);
  return std::make_unique<CopyBack>(group_->start_all_gather(input.cpu(), host), host, output);
}

void HostCopyGroup::all_reduce_max(const at::Tensor& tensor) {
  const at::Tensor host = tensor.cpu();
  group_->all_reduce_max(host);
  if (!host.is_same(tensor)) tensor.copy_(host);
}

std::unique_ptr<Work> HostCopyGroup::send(const at::Tensor& tensor, int to, int tag) {
  return group_->send(tensor.cpu(), to, tag);
}

std::unique_ptr<Work> HostCopyGroup::receive(const at::Tensor& into, int from, int tag) {
  const at::Tensor host = host_buffer_for(into);
  return std::make_unique<CopyBack>(group_->receive(host, from, tag), host, into);
}

}  // namespace sailor::trainer
