#include "trainer/weights/foreign_names.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/model/check.h"

namespace sailor::trainer {
namespace {

struct Name {
  std::vector<std::string> ours;  // without ".weight" and ".bias", which the names have in common
  std::string foreign;
};

// Of the tensors outside the blocks, and of a block's below its prefix.
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

const Slice* find(const Piece& piece, const std::string& name) {
  const auto found = std::ranges::find(piece.slices, name, &Slice::name);
  return found == piece.slices.end() ? nullptr : &*found;
}

// Adds what the piece has of these names; every tensor of a piece has a name in the tables.
void append(const Piece& piece, const std::string& prefix, const std::vector<Name>& names, bool is_transposed,
            std::vector<ForeignTensor>& tensors) {
  std::size_t named = 0;
  for (const Name& name : names) {
    for (const char* ending : {".weight", ".bias"}) {
      ForeignTensor tensor{.name = prefix + name.foreign + ending, .shape = {}, .piece = piece.id, .slices = {}};
      for (const std::string& ours : name.ours) {
        const Slice* slice = find(piece, ours + ending);
        if (slice == nullptr) continue;
        if (tensor.shape.empty()) tensor.shape = slice->shape;
        if (!tensor.slices.empty()) tensor.shape[0] += slice->shape[0];
        tensor.slices.push_back(slice->name);
      }
      if (tensor.slices.empty()) continue;
      tensor.is_transposed = is_transposed && tensor.shape.size() == 2;
      if (tensor.is_transposed) std::swap(tensor.shape[0], tensor.shape[1]);
      named += tensor.slices.size();
      tensors.push_back(std::move(tensor));
    }
  }
  SAILOR_CHECK(named == piece.slices.size(), "piece {} has {} tensors, {} have foreign names", piece.id,
               piece.slices.size(), named);
}

}  // namespace

std::vector<ForeignTensor> foreign_tensors(const ModelSpec& spec) {
  const FamilyNames names = names_of(spec.family);
  const int head = piece_of_layer(spec.layer_count() - 1);
  std::vector<ForeignTensor> tensors;
  for (const int id : all_pieces(spec)) {
    const Piece piece = piece_of(spec, id);
    if (id == kTokenEmbedding || id == kPositions) {
      append(piece, "", names.embedding, false, tensors);
    } else if (id == head) {
      append(piece, "", names.head, false, tensors);
    } else {
      const int block = id - piece_of_layer(1);
      append(piece, fmt::format("{}{}.", names.blocks, block), names.block, names.is_transposed, tensors);
    }
  }
  return tensors;
}

}  // namespace sailor::trainer
