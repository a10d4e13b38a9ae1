#include "trainer/elastic/state/incoming_message.h"

#include <ATen/ATen.h>

namespace sailor::trainer {

IncomingMessage::IncomingMessage(const at::Tensor& flat, std::vector<StridedSpan> spans, std::int64_t elements)
    : flat_(flat), spans_(std::move(spans)) {
  const bool is_stretch = spans_.size() == 1 && spans_.front().rows == 1;
  message_ = is_stretch ? packed(flat, spans_) : at::empty({elements}, flat.options());
}

}  // namespace sailor::trainer
