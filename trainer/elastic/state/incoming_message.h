// IncomingMessage: the buffer for a message whose elements belong into spans of a flat tensor. The caller receives into
// message() and then calls unpack().
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "trainer/model/layer_state.h"

namespace sailor::trainer {

class IncomingMessage {
 public:
  // The elements of the message fill the spans in order.
  IncomingMessage(const at::Tensor& flat, std::vector<StridedSpan> spans, std::int64_t elements);

  // The tensor to receive into; it is the destination itself if that is contiguous.
  [[nodiscard]] const at::Tensor& message() const { return message_; }
  void unpack() const { trainer::unpack(message_, flat_, spans_); }  // after the message has arrived

 private:
  at::Tensor flat_;
  std::vector<StridedSpan> spans_;
  at::Tensor message_;
};

}  // namespace sailor::trainer
