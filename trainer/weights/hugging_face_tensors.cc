#include "trainer/weights/hugging_face_tensors.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/model/check.h"

namespace sailor::trainer {
namespace {

struct Name {
  std::vector<std::string> ours;  // without ".weight" and ".bias", which the names have in common
  std::string foreign;
};

// The names of the tensors outside the blocks, and the names of a block's tensors after its prefix.
struct FamilyNames {
  std::string blocks;  // prefix of block n is this and n
  std::vector<Name> embedding, block, head;
  bool is_transposed = false;
};

FamilyNames gpt2_names() {
  return {.blocks = "transformer.h.",
          .embedding = {{{"tokens"}, "transformer.wte"}, {{"positions"}, "transformer.wpe"}},
          .block = {{{"attention_norm"}, "ln_1"},
                    {{"attention.query", "attention.key", "attention.value"}, "attn.c_attn"},
                    {{"attention.output"}, "attn.c_proj"},
                    {{"ffn_norm"}, "ln_2"},
                    {{"ffn.up"}, "mlp.c_fc"},
                    {{"ffn.down"}, "mlp.c_proj"}},
          .head = {{{"norm"}, "transformer.ln_f"}, {{"output"}, "lm_head"}},
          .is_transposed = true};
}

FamilyNames gpt_neo_names() {
  return {.blocks = "transformer.h.",
          .embedding = {{{"tokens"}, "transformer.wte"}, {{"positions"}, "transformer.wpe"}},
          .block = {{{"attention_norm"}, "ln_1"},
                    {{"attention.query"}, "attn.attention.q_proj"},
                    {{"attention.key"}, "attn.attention.k_proj"},
                    {{"attention.value"}, "attn.attention.v_proj"},
                    {{"attention.output"}, "attn.attention.out_proj"},
                    {{"ffn_norm"}, "ln_2"},
                    {{"ffn.up"}, "mlp.c_fc"},
                    {{"ffn.down"}, "mlp.c_proj"}},
          .head = {{{"norm"}, "transformer.ln_f"}, {{"output"}, "lm_head"}}};
}

FamilyNames opt_names() {
  return {.blocks = "model.decoder.layers.",
          .embedding = {{{"tokens"}, "model.decoder.embed_tokens"},
                        {{"positions"}, "model.decoder.embed_positions"},
                        {{"projection"}, "model.decoder.project_in"}},
          .block = {{{"attention_norm"}, "self_attn_layer_norm"},
                    {{"attention.query"}, "self_attn.q_proj"},
                    {{"attention.key"}, "self_attn.k_proj"},
                    {{"attention.value"}, "self_attn.v_proj"},
                    {{"attention.output"}, "self_attn.out_proj"},
                    {{"ffn_norm"}, "final_layer_norm"},
                    {{"ffn.up"}, "fc1"},
                    {{"ffn.down"}, "fc2"}},
          .head = {{{"norm"}, "model.decoder.final_layer_norm"},
                   {{"projection"}, "model.decoder.project_out"},
                   {{"output"}, "lm_head"}}};
}

FamilyNames llama_names() {
  return {.blocks = "model.layers.",
          .embedding = {{{"tokens"}, "model.embed_tokens"}},
          .block = {{{"attention_norm"}, "input_layernorm"},
                    {{"attention.query"}, "self_attn.q_proj"},
                    {{"attention.key"}, "self_attn.k_proj"},
                    {{"attention.value"}, "self_attn.v_proj"},
                    {{"attention.output"}, "self_attn.o_proj"},
                    {{"ffn_norm"}, "post_attention_layernorm"},
                    {{"ffn.gate"}, "mlp.gate_proj"},
                    {{"ffn.up"}, "mlp.up_proj"},
                    {{"ffn.down"}, "mlp.down_proj"}},
          .head = {{{"norm"}, "model.norm"}, {{"output"}, "lm_head"}}};
}

FamilyNames names_of(ModelFamily family) {
  switch (family) {
    case ModelFamily::kGpt2:
      return gpt2_names();
    case ModelFamily::kOpt:
      return opt_names();
    case ModelFamily::kGptNeo:
      return gpt_neo_names();
    case ModelFamily::kLlama:
      return llama_names();
  }
  return {};
}

const TensorLayout* find(const StateLayout& layer_state, const std::string& name) {
  const auto found = std::ranges::find(layer_state.tensors, name, &TensorLayout::name);
  return found == layer_state.tensors.end() ? nullptr : &*found;
}

// Returns the tensor that consists of those tensors of the layer state that the name lists, with this ending. Returns
// nothing if the layer state has none of them.
std::optional<HuggingFaceTensor> foreign_tensor(const StateLayout& layer_state, const Name& name, const char* ending) {
  HuggingFaceTensor tensor{.name = name.foreign + ending, .shape = {}, .layer_state = layer_state.id, .tensors = {}};
  for (const std::string& ours : name.ours) {
    const TensorLayout* layout = find(layer_state, ours + ending);
    if (layout == nullptr) continue;
    if (tensor.shape.empty()) tensor.shape = layout->shape;
    if (!tensor.tensors.empty()) tensor.shape[0] += layout->shape[0];
    tensor.tensors.push_back(layout->name);
  }
  return tensor.tensors.empty() ? std::nullopt : std::optional(std::move(tensor));
}

// Adds the tensors of the layer state that have one of these names. Every tensor of a layer state is in the tables.
void append(const StateLayout& layer_state, const std::string& prefix, const std::vector<Name>& names,
            bool is_transposed, std::vector<HuggingFaceTensor>& tensors) {
  std::size_t named = 0;
  for (const Name& name : names) {
    for (const char* ending : {".weight", ".bias"}) {
      auto tensor = foreign_tensor(layer_state, name, ending);
      if (!tensor) continue;
      tensor->name = prefix + tensor->name;
      tensor->is_transposed = is_transposed && tensor->shape.size() == 2;
      if (tensor->is_transposed) std::swap(tensor->shape[0], tensor->shape[1]);
      named += tensor->tensors.size();
      tensors.push_back(*std::move(tensor));
    }
  }
  SAILOR_CHECK(named == layer_state.tensors.size(), "layer state {} has {} tensors, {} have foreign names",
               layer_state.id, layer_state.tensors.size(), named);
}

}  // namespace

std::vector<HuggingFaceTensor> hugging_face_tensors(const ModelSpec& spec) {
  const FamilyNames names = names_of(spec.family);
  const int head = layer_state_of(spec.layer_count() - 1);
  std::vector<HuggingFaceTensor> tensors;
  for (const int id : all_layer_states(spec)) {
    const StateLayout layer_state = layout_of(spec, id);
    if (id == kTokenEmbedding || id == kPositions) {
      append(layer_state, "", names.embedding, false, tensors);
    } else if (id == head) {
      append(layer_state, "", names.head, false, tensors);
    } else {
      const int block = id - layer_state_of(1);
      append(layer_state, fmt::format("{}{}.", names.blocks, block), names.block, names.is_transposed, tensors);
    }
  }
  return tensors;
}

}  // namespace sailor::trainer
