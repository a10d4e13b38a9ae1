// The tensors of a Hugging Face model of each family, and which of our tensors each of them is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/model/state_layout.h"

namespace sailor::trainer {

struct HuggingFaceTensor {
  std::string name;                 // "transformer.h.0.attn.c_attn.weight"
  std::vector<std::int64_t> shape;  // of the file's tensor
  int layer_state = 0;
  std::vector<std::string> tensors;  // ours, one after the other along the outputs: GPT-2 keeps three in one
  bool is_transposed = false;        // GPT-2 stores its matrices as (in, out)
};

// All of them, tied ones once, in the order of our layer states.
std::vector<HuggingFaceTensor> hugging_face_tensors(const ModelSpec& spec);

}  // namespace sailor::trainer
