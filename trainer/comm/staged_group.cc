#include "trainer/comm/staged_group.h"

#include <ATen/ATen.h>

namespace sailor::trainer {
namespace {

// Brings the host's tensor to its place once it is there.
class Landing : public Transfer {
 public:
  Landing(std::unique_ptr<Transfer> transfer, at::Tensor host, at::Tensor place)
      : transfer_(std::move(transfer)), host_(std::move(host)), place_(std::move(place)) {}

  void wait() override {
    transfer_->wait();
    if (!host_.is_same(place_)) place_.copy_(host_);
  }

 private:
  std::unique_ptr<Transfer> transfer_;
  at::Tensor host_;
  at::Tensor place_;
};

at::Tensor room_for(const at::Tensor& tensor) {
  return tensor.is_cpu() ? tensor : at::empty(tensor.sizes(), tensor.options().device(at::kCPU));
}

}  // namespace

std::unique_ptr<Transfer> StagedGroup::start_sum(const at::Tensor& tensor) {
  const at::Tensor host = tensor.cpu();
  return std::make_unique<Landing>(group_->start_sum(host), host, tensor);
}

std::unique_ptr<Transfer> StagedGroup::start_sum_of_parts(const at::Tensor& parts, const at::Tensor& mine) {
  const at::Tensor host = room_for(mine);
  return std::make_unique<Landing>(group_->start_sum_of_parts(parts.cpu(), host), host, mine);
}

std::unique_ptr<Transfer> StagedGroup::start_gather(const at::Tensor& mine, const at::Tensor& parts) {
  const at::Tensor host = room_for(parts);
  return std::make_unique<Landing>(group_->start_gather(mine.cpu(), host), host, parts);
}

void StagedGroup::max(const at::Tensor& tensor) {
  const at::Tensor host = tensor.cpu();
  group_->max(host);
  if (!host.is_same(tensor)) tensor.copy_(host);
}

std::unique_ptr<Transfer> StagedGroup::send(const at::Tensor& tensor, int to, int tag) {
  return group_->send(tensor.cpu(), to, tag);
}

std::unique_ptr<Transfer> StagedGroup::receive(const at::Tensor& into, int from, int tag) {
  const at::Tensor host = room_for(into);
  return std::make_unique<Landing>(group_->receive(host, from, tag), host, into);
}

}  // namespace sailor::trainer
