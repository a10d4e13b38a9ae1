// Reads and writes files in Hugging Face's safetensors format, without LibTorch.
//
//   length of the header (8 bytes, little endian)
//   header: JSON {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, ...}
//   data: the elements of the tensors, row by row, little endian; offsets count from here
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "trainer/data/mapped_file.h"

namespace sailor::trainer {

class SafetensorsFile {
 public:
  struct Tensor {
    std::string type;  // "F32", "F16" or "BF16"; tensors of other types can be listed but not read
    std::vector<std::int64_t> shape;
    std::size_t begin = 0;  // bytes, from the start of the file
    std::size_t end = 0;
  };

  static Result<std::unique_ptr<SafetensorsFile>> open(const std::filesystem::path& file);

  [[nodiscard]] const std::map<std::string, Tensor>& tensors() const { return tensors_; }
  // Fails if the tensor is of a type that cannot be read, or if its size does not match its shape.
  [[nodiscard]] Result<void> check(const Tensor& tensor) const;
  [[nodiscard]] Result<std::vector<float>> values(const Tensor& tensor) const;  // converted to FP32
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  SafetensorsFile(std::filesystem::path path, std::unique_ptr<MappedFile> content)
      : path_(std::move(path)), content_(std::move(content)) {}
  Result<void> read_header();

  std::filesystem::path path_;
  std::unique_ptr<MappedFile> content_;
  std::map<std::string, Tensor> tensors_;
};

struct TensorToWrite {
  std::string name;
  std::vector<std::int64_t> shape;
};

// Writes FP32 tensors in this order. The function calls `values` for one tensor after the other, so the model need not
// fit into memory. The file appears under its name only when it is complete.
Result<void> write_safetensors(const std::filesystem::path& file, const std::vector<TensorToWrite>& tensors,
                               const std::function<Result<std::vector<float>>(std::size_t index)>& values);

}  // namespace sailor::trainer
