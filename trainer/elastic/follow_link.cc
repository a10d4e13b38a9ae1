#include "trainer/elastic/follow_link.h"

#include <ATen/ATen.h>

namespace sailor::trainer {
namespace {

constexpr int kTag = 0;  // messages of one tag arrive in the order of sending
constexpr std::int64_t kNumbers = 7;

at::Tensor tensor_of(const StepNews& news) {
  return at::tensor(
      {static_cast<double>(news.step), news.squared_norm, news.loss, news.first_loss,
       static_cast<double>(news.followed), static_cast<double>(news.handed_out), news.is_last ? 1.0 : 0.0},
      at::kDouble);
}

StepNews news_of(const at::Tensor& tensor) {
  const auto* number = tensor.const_data_ptr<double>();
  return {.step = static_cast<std::int64_t>(number[0]),
          .squared_norm = number[1],
          .loss = number[2],
          .first_loss = number[3],
          .followed = static_cast<int>(number[4]),
          .handed_out = static_cast<int>(number[5]),
          .is_last = number[6] != 0};
}

}  // namespace

void FollowLink::tell(const StepNews& news) { send(tensor_of(news)); }

StepNews FollowLink::hear() {
  const at::Tensor tensor = at::empty({kNumbers}, at::kDouble);
  receive(tensor);
  return news_of(tensor);
}

void FollowLink::send(const at::Tensor& tensor) {
  allow_for(tensor.numel());
  group_->send(tensor, peer_, kTag)->wait();
}

void FollowLink::receive(const at::Tensor& into) {
  allow_for(into.numel());
  group_->receive(into, peer_, kTag)->wait();
}

void FollowLink::acknowledge() { send(at::zeros({1})); }

void FollowLink::await_acknowledgement(std::int64_t elements) {
  allow_for(elements);
  group_->receive(at::empty({1}), peer_, kTag)->wait();
}

void FollowLink::allow_for(std::int64_t elements) {
  constexpr std::int64_t kSlowest = 2000;  // of FP32 in a millisecond: 8 MB/s
  group_->set_timeout(patience_ + std::chrono::milliseconds(elements / kSlowest));
}

}  // namespace sailor::trainer
