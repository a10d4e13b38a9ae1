#include "trainer/model/vocabulary.h"

#include <ATen/ATen.h>

namespace sailor::trainer {

TokenRows rows_of_tokens(const at::Tensor& token_ids, std::int64_t begin, std::int64_t count) {
  const at::Tensor rows = token_ids - begin;
  const at::Tensor is_elsewhere = rows.lt(0).logical_or_(rows.ge(count));
  return {rows.masked_fill(is_elsewhere, 0), is_elsewhere};
}

}  // namespace sailor::trainer
