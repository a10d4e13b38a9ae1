// A Hugging Face model's folder: config.json and safetensors, read and written layer state by layer state.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "trainer/weights/hugging_face_tensors.h"
#include "trainer/weights/safetensors.h"

namespace sailor::trainer {

// The weights of a model, in one file or several.
class HuggingFaceModel {
 public:
  // A folder with *.safetensors, or one such file. Says which tensor of the model is missing or has another shape.
  static Result<std::unique_ptr<HuggingFaceModel>> open(const std::filesystem::path& path, const ModelSpec& spec);

  // The layer state's weights as layout_of() lays them out.
  [[nodiscard]] Result<std::vector<float>> weights(int layer_state) const;

 private:
  struct Place {
    const SafetensorsFile* file = nullptr;
    const SafetensorsFile::Tensor* tensor = nullptr;
  };
  explicit HuggingFaceModel(const ModelSpec& spec) : spec_(spec), tensors_(hugging_face_tensors(spec)) {}
  [[nodiscard]] Place find(const std::string& name) const;
  [[nodiscard]] Result<void> check(const std::filesystem::path& path) const;

  ModelSpec spec_;
  std::vector<HuggingFaceTensor> tensors_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
};

// Gives a layer state's weights, as layout_of() lays them out.
using LayerWeights = std::function<Result<std::vector<float>>(int layer_state)>;

// Writes config.json and model.safetensors, which the family's Hugging Face model loads.
Result<void> write_hugging_face_model(const std::filesystem::path& folder, const ModelSpec& spec,
                                      const LayerWeights& weights);

}  // namespace sailor::trainer
