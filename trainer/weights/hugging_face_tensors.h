// Maps the tensors of Hugging Face models to ours, for each model family.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/model/state_layout.h"

namespace sailor::trainer {

struct HuggingFaceTensor {
  std::string name;                 // "transformer.h.0.attn.c_attn.weight"
  std::vector<std::int64_t> shape;  // shape in the file
  int layer_state = 0;
  // The names of our tensors that it contains, concatenated along the outputs. GPT-2 has query, key and value in one.
  std::vector<std::string> tensors;
  bool is_transposed = false;  // GPT-2 stores its matrices as (in, out)
};

// Returns all tensors of the model, in the order of our layer states. Tied tensors are listed once.
std::vector<HuggingFaceTensor> hugging_face_tensors(const ModelSpec& spec);

}  // namespace sailor::trainer
