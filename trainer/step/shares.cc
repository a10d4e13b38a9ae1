#include "trainer/step/shares.h"

#include <algorithm>

#include <ATen/ATen.h>

namespace sailor::trainer {
namespace {

std::int64_t size_of(const std::vector<Block>& blocks) {
  std::int64_t size = 0;
  for (const Block& block : blocks) size += block.rows * block.length;
  return size;
}

}  // namespace

std::vector<std::vector<Block>> blocks_of_shares(const Piece& part, const Parcel& parcel) {
  std::vector<std::vector<Block>> shares;
  for (int k = 0; k < std::ssize(parcel.holders); ++k) shares.push_back(blocks_of(part, share_of(parcel, k)));
  return shares;
}

std::int64_t longest_share(const std::vector<std::vector<Block>>& shares) {
  std::int64_t longest = 0;
  for (const auto& share : shares) longest = std::max(longest, size_of(share));
  return longest;
}

at::Tensor packed_shares(const at::Tensor& flat, const std::vector<std::vector<Block>>& shares) {
  const std::int64_t length = longest_share(shares);
  at::Tensor message = at::zeros({length * std::ssize(shares)}, flat.options());
  std::int64_t begin = 0;
  for (const auto& share : shares) {
    message.narrow(0, begin, size_of(share)).copy_(packed(flat, share));
    begin += length;
  }
  return message;
}

void unpack_shares(const at::Tensor& message, const at::Tensor& flat, const std::vector<std::vector<Block>>& shares) {
  const std::int64_t length = longest_share(shares);
  std::int64_t begin = 0;
  for (const auto& share : shares) {
    unpack(message.narrow(0, begin, length), flat, share);
    begin += length;
  }
}

}  // namespace sailor::trainer
