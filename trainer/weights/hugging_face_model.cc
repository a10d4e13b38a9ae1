#include "trainer/weights/hugging_face_model.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/model/check.h"
#include "trainer/weights/hugging_face_config.h"

namespace sailor::trainer {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWholeModel = "model.safetensors";

tl::unexpected<Error> unfit(const fs::path& path, std::string_view what) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("reading weights {}: {}", path.string(), what));
}

Result<void> cannot_write(const fs::path& path, const std::string& why) {
  return fail(ErrorCode::kUnavailable,
              fmt::format("writing {}: {}; free space, or export into another folder", path.string(), why));
}

Result<std::vector<fs::path>> files_at(const fs::path& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) return std::vector{path};
  // Hugging Face prefers this file too. Others beside it may be parts of the model from before an export.
  if (const fs::path whole = path / kWholeModel; fs::is_regular_file(whole, error)) return std::vector{whole};
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == ".safetensors") files.push_back(entry->path());
  }
  if (files.empty()) {
    return unfit(
        path, "it is neither a safetensors file nor a folder that contains one; mount the model's files into the pod");
  }
  std::ranges::sort(files);
  return files;
}

const TensorLayout& tensor_named(const StateLayout& layer_state, const std::string& name) {
  const auto found = std::ranges::find(layer_state.tensors, name, &TensorLayout::name);
  SAILOR_CHECK(found != layer_state.tensors.end(), "layer state {} has no tensor {}", layer_state.id, name);
  return *found;
}

// (rows, columns) to (columns, rows).
std::vector<float> transposed(const std::vector<float>& values, std::int64_t rows, std::int64_t columns) {
  std::vector<float> result(values.size());
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      result[static_cast<std::size_t>(column * rows + row)] = values[static_cast<std::size_t>(row * columns + column)];
    }
  }
  return result;
}

void copy_into_tensors(const std::vector<float>& values, const HuggingFaceTensor& tensor,
                       const StateLayout& layer_state, std::vector<float>& flat) {
  auto from = values.begin();
  for (const std::string& name : tensor.tensors) {
    const TensorLayout& layout = tensor_named(layer_state, name);
    std::copy_n(from, layout.size(), flat.begin() + layout.offset);
    from += layout.size();
  }
}

std::vector<float> copied_from_tensors(const HuggingFaceTensor& tensor, const StateLayout& layer_state,
                                       const std::vector<float>& flat) {
  std::vector<float> values;
  for (const std::string& name : tensor.tensors) {
    const TensorLayout& layout = tensor_named(layer_state, name);
    values.insert(values.end(), flat.begin() + layout.offset, flat.begin() + layout.offset + layout.size());
  }
  if (!tensor.is_transposed) return values;
  return transposed(values, tensor.shape[1], tensor.shape[0]);
}

// Older files on the hub contain only the bare model, whose tensor names lack the first component.
std::string without_first_component(const std::string& name) { return name.substr(name.find('.') + 1); }

}  // namespace

Result<std::unique_ptr<HuggingFaceModel>> HuggingFaceModel::open(const fs::path& path, const ModelSpec& spec) {
  const auto names = files_at(path);
  if (!names) return tl::unexpected(names.error());
  std::unique_ptr<HuggingFaceModel> opened(new HuggingFaceModel(spec));
  for (const fs::path& name : *names) {
    auto file = SafetensorsFile::open(name);
    if (!file) return tl::unexpected(file.error());
    opened->files_.push_back(*std::move(file));
  }
  if (auto fits = opened->check(path); !fits) return tl::unexpected(fits.error());
  return opened;
}

Result<std::vector<float>> HuggingFaceModel::weights(int id) const {
  const StateLayout layer_state = layout_of(spec_, id);
  std::vector<float> flat(static_cast<std::size_t>(layer_state.size));
  for (const HuggingFaceTensor& tensor : tensors_) {
    if (tensor.layer_state != id) continue;
    const Location location = find(tensor.name);
    auto values = location.file->values(*location.tensor);
    if (!values) return tl::unexpected(values.error());
    if (tensor.is_transposed) values = transposed(*values, tensor.shape[0], tensor.shape[1]);
    copy_into_tensors(*values, tensor, layer_state, flat);
  }
  return flat;
}

HuggingFaceModel::Location HuggingFaceModel::find(const std::string& name) const {
  for (const std::string& candidate : {name, without_first_component(name)}) {
    for (const auto& file : files_) {
      const auto found = file->tensors().find(candidate);
      if (found != file->tensors().end()) return {file.get(), &found->second};
    }
  }
  return {};
}

Result<void> HuggingFaceModel::check(const fs::path& path) const {
  for (const HuggingFaceTensor& tensor : tensors_) {
    const Location location = find(tensor.name);
    if (location.tensor == nullptr) {
      return unfit(path,
                   fmt::format("tensor {} is missing; are these the weights of model {}?", tensor.name, spec_.name));
    }
    if (location.tensor->shape != tensor.shape) {
      return unfit(path,
                   fmt::format("tensor {} has shape [{}], but in model {} it has shape [{}]", tensor.name,
                               fmt::join(location.tensor->shape, ", "), spec_.name, fmt::join(tensor.shape, ", ")));
    }
    if (auto readable = location.file->check(*location.tensor); !readable) return readable;
  }
  return {};
}

Result<void> write_hugging_face_model(const fs::path& folder, const ModelSpec& spec, const LayerWeights& weights,
                                      int sequence_length) {
  const auto config = hugging_face_config(spec, sequence_length);
  if (!config) return tl::unexpected(config.error());
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return cannot_write(folder, error.message());
  const std::vector<HuggingFaceTensor> tensors = hugging_face_tensors(spec);
  std::vector<TensorToWrite> to_write;
  to_write.reserve(tensors.size());
  for (const HuggingFaceTensor& tensor : tensors) to_write.push_back({tensor.name, tensor.shape});
  StateLayout layer_state;
  std::vector<float> flat;
  const auto values = [&](std::size_t index) -> Result<std::vector<float>> {
    const HuggingFaceTensor& tensor = tensors[index];
    if (index == 0 || tensor.layer_state != layer_state.id) {
      layer_state = layout_of(spec, tensor.layer_state);
      auto loaded = weights(tensor.layer_state);
      if (!loaded) return tl::unexpected(loaded.error());
      flat = *std::move(loaded);
    }
    return copied_from_tensors(tensor, layer_state, flat);
  };
  if (auto written = write_safetensors(folder / kWholeModel, to_write, values); !written) return written;
  std::ofstream stream(folder / "config.json");
  stream << config->dump(2) << "\n";
  stream.close();
  return stream ? Result<void>() : cannot_write(folder / "config.json", std::strerror(errno));
}

}  // namespace sailor::trainer
