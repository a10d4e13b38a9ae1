#include "trainer/elastic/joining/stream_link.h"

#include <ATen/ATen.h>

namespace sailor::trainer {
namespace {

constexpr int kTag = 0;  // messages of one tag arrive in the order of sending
constexpr std::int64_t kNumbers = 7;
constexpr std::int64_t kBlock = 2 << 20;                   // elements, 8 MB: less than two blocks are on their way
constexpr std::chrono::milliseconds kTimeOfBlocks{2'000};  // at the slowest, 8 MB/s
constexpr std::int64_t kSlowestUpdate = 20'000;            // elements in a millisecond

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

FollowLink::FollowLink(std::unique_ptr<Group> group, int peer, std::chrono::milliseconds patience)
    : group_(std::move(group)), peer_(peer), patience_(patience + kTimeOfBlocks) {
  group_->set_timeout(patience_);
}

void FollowLink::tell(const StepNews& news) { group_->send(tensor_of(news), peer_, kTag)->wait(); }

StepNews FollowLink::hear() {
  const at::Tensor tensor = at::empty({kNumbers}, at::kDouble);
  group_->receive(tensor, peer_, kTag)->wait();
  return news_of(tensor);
}

void FollowLink::send(const at::Tensor& tensor) {
  for (const at::Tensor& block : tensor.split(kBlock)) {
    group_->send(block, peer_, kTag)->wait();
    if (fills_a_block(block.numel())) await_acknowledgement(0);
  }
}

void FollowLink::receive(const at::Tensor& into) {
  for (const at::Tensor& block : into.split(kBlock)) {
    group_->receive(block, peer_, kTag)->wait();
    if (fills_a_block(block.numel())) acknowledge();
  }
}

void FollowLink::acknowledge() {
  unacknowledged_ = 0;
  group_->send(at::zeros({1}), peer_, kTag)->wait();
}

void FollowLink::await_acknowledgement(std::int64_t elements) {
  unacknowledged_ = 0;
  group_->set_timeout(patience_ + std::chrono::milliseconds(elements / kSlowestUpdate));
  group_->receive(at::empty({1}), peer_, kTag)->wait();
  group_->set_timeout(patience_);
}

bool FollowLink::fills_a_block(std::int64_t elements) {
  unacknowledged_ += elements;
  return unacknowledged_ >= kBlock;
}

}  // namespace sailor::trainer
