#include "trainer/elastic/state/arrival.h"

#include <ATen/ATen.h>

namespace sailor::trainer {

Arrival::Arrival(const at::Tensor& flat, std::vector<Block> blocks, std::int64_t elements)
    : flat_(flat), blocks_(std::move(blocks)) {
  const bool is_stretch = blocks_.size() == 1 && blocks_.front().rows == 1;
  message_ = is_stretch ? packed(flat, blocks_) : at::empty({elements}, flat.options());
}

}  // namespace sailor::trainer
