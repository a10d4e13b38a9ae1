// Reads and writes the folder of a Hugging Face model (config.json and safetensors), one layer state at a time.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "trainer/weights/hugging_face_tensors.h"
#include "trainer/weights/safetensors.h"

namespace sailor::trainer {

// Reads the weights of a model from one file or several.
class HuggingFaceModel {
 public:
  // Opens one safetensors file, or those of a folder: model.safetensors, or all if there is no file of this name. Fails
  // if a tensor is missing, has another shape or cannot be read; the error names the tensor or its type.
  static Result<std::unique_ptr<HuggingFaceModel>> open(const std::filesystem::path& path, const ModelSpec& spec);

  // Returns the weights of a layer state, in the order of layout_of().
  [[nodiscard]] Result<std::vector<float>> weights(int layer_state) const;

 private:
  struct Location {
    const SafetensorsFile* file = nullptr;
    const SafetensorsFile::Tensor* tensor = nullptr;
  };
  explicit HuggingFaceModel(const ModelSpec& spec) : spec_(spec), tensors_(hugging_face_tensors(spec)) {}
  [[nodiscard]] Location find(const std::string& name) const;
  [[nodiscard]] Result<void> check(const std::filesystem::path& path) const;

  ModelSpec spec_;
  std::vector<HuggingFaceTensor> tensors_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
};

// A function that returns the weights of a layer state, in the order of layout_of().
using LayerWeights = std::function<Result<std::vector<float>>(int layer_state)>;

// Writes config.json and model.safetensors. The Hugging Face model of the family can load them. The sequence length is
// that of hugging_face_config().
Result<void> write_hugging_face_model(const std::filesystem::path& folder, const ModelSpec& spec,
                                      const LayerWeights& weights, int sequence_length = 0);

}  // namespace sailor::trainer
