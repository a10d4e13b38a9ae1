// Arrival: a message on its way into its places in a flat tensor.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "trainer/model/layer_state.h"

namespace sailor::trainer {

class Arrival {
 public:
  // The spans of the tensor take the message's elements in order.
  Arrival(const at::Tensor& flat, std::vector<StridedSpan> spans, std::int64_t elements);

  // To be received into: its place itself where that is one stretch of memory.
  [[nodiscard]] const at::Tensor& message() const { return message_; }
  void unpack() const { trainer::unpack(message_, flat_, spans_); }  // once it is there

 private:
  at::Tensor flat_;
  std::vector<StridedSpan> spans_;
  at::Tensor message_;
};

}  // namespace sailor::trainer
