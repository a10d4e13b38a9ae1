#include "trainer/elastic/joining/stream_link.h"

#include <ATen/ATen.h>

namespace sailor::trainer {
namespace {

constexpr int kTag = 0;  // messages of one tag arrive in the order of sending
constexpr std::int64_t kNumbers = 8;
constexpr std::int64_t kBlock = 2 << 20;                   // elements, 8 MB; less than two blocks are in flight
constexpr std::chrono::milliseconds kTimeOfBlocks{2'000};  // at least 8 MB/s
constexpr std::int64_t kSlowestUpdate = 20'000;            // elements per millisecond

at::Tensor tensor_of(const StreamHeader& header) {
  return at::tensor({static_cast<double>(header.step), header.squared_norm, header.loss, header.first_loss,
                     static_cast<double>(header.known_shards), static_cast<double>(header.sent_shards),
                     header.is_last ? 1.0 : 0.0, static_cast<double>(header.updated_by)},
                    at::kDouble);
}

StreamHeader header_of(const at::Tensor& tensor) {
  const auto* number = tensor.const_data_ptr<double>();
  return {.step = static_cast<std::int64_t>(number[0]),
          .updated_by = static_cast<std::int64_t>(number[7]),
          .squared_norm = number[1],
          .loss = number[2],
          .first_loss = number[3],
          .known_shards = static_cast<int>(number[4]),
          .sent_shards = static_cast<int>(number[5]),
          .is_last = number[6] != 0};
}

}  // namespace

StreamLink::StreamLink(std::unique_ptr<Group> group, int peer, std::chrono::milliseconds timeout)
    : group_(std::move(group)), peer_(peer), timeout_(timeout + kTimeOfBlocks) {
  group_->set_timeout(timeout_);
}

void StreamLink::send_header(const StreamHeader& header) { group_->send(tensor_of(header), peer_, kTag)->wait(); }

StreamHeader StreamLink::receive_header() {
  const at::Tensor tensor = at::empty({kNumbers}, at::kDouble);
  group_->receive(tensor, peer_, kTag)->wait();
  return header_of(tensor);
}

void StreamLink::send(const at::Tensor& tensor) {
  for (const at::Tensor& block : tensor.split(kBlock)) {
    group_->send(block, peer_, kTag)->wait();
    if (fills_a_block(block.numel())) await_acknowledgement(0);
  }
}

void StreamLink::receive(const at::Tensor& into) {
  for (const at::Tensor& block : into.split(kBlock)) {
    group_->receive(block, peer_, kTag)->wait();
    if (fills_a_block(block.numel())) acknowledge();
  }
}

void StreamLink::acknowledge() {
  unacknowledged_ = 0;
  group_->send(at::zeros({1}), peer_, kTag)->wait();
}

void StreamLink::await_acknowledgement(std::int64_t elements) {
  unacknowledged_ = 0;
  group_->set_timeout(timeout_ + std::chrono::milliseconds(elements / kSlowestUpdate));
  group_->receive(at::empty({1}), peer_, kTag)->wait();
  group_->set_timeout(timeout_);
}

bool StreamLink::fills_a_block(std::int64_t elements) {
  unacknowledged_ += elements;
  return unacknowledged_ >= kBlock;
}

}  // namespace sailor::trainer
