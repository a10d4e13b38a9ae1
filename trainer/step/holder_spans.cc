#include "trainer/step/holder_spans.h"

#include <algorithm>

#include <ATen/ATen.h>

namespace sailor::trainer {

std::vector<std::vector<StridedSpan>> spans_by_holder(const StateLayout& shard, const TransferUnit& unit) {
  std::vector<std::vector<StridedSpan>> spans_by_holder;
  spans_by_holder.reserve(unit.holders.size());
  for (int k = 0; k < std::ssize(unit.holders); ++k)
    spans_by_holder.push_back(spans_of(shard, slices_of_holder(unit, k)));
  return spans_by_holder;
}

std::int64_t longest_message(const std::vector<std::vector<StridedSpan>>& spans_by_holder) {
  std::int64_t longest = 0;
  for (const auto& spans : spans_by_holder) longest = std::max(longest, size_of(spans));
  return longest;
}

at::Tensor packed_messages(const at::Tensor& flat, const std::vector<std::vector<StridedSpan>>& spans_by_holder) {
  const std::int64_t length = longest_message(spans_by_holder);
  at::Tensor message = at::zeros({length * std::ssize(spans_by_holder)}, flat.options());
  std::int64_t begin = 0;
  for (const auto& spans : spans_by_holder) {
    pack_into(message.narrow(0, begin, size_of(spans)), flat, spans);
    begin += length;
  }
  return message;
}

void unpack_messages(const at::Tensor& message, const at::Tensor& flat,
                     const std::vector<std::vector<StridedSpan>>& spans_by_holder) {
  const std::int64_t length = longest_message(spans_by_holder);
  std::int64_t begin = 0;
  for (const auto& spans : spans_by_holder) {
    unpack(message.narrow(0, begin, length), flat, spans);
    begin += length;
  }
}

}  // namespace sailor::trainer
