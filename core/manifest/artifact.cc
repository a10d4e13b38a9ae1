#include "core/manifest/artifact.h"

#include <array>
#include <fstream>

#include <fmt/format.h>

#include "core/manifest/file_text.h"
#include "core/model/model_spec.h"
#include "core/model/parse_number.h"

namespace sailor {
namespace {

using Json = nlohmann::json;

struct NamePair {
  std::string_view in_artifact;
  std::string_view in_sailor;
};
struct ModelName : NamePair {
  int sequence_length = 0;  // the sequence length of the measurements
};

constexpr std::array<ModelName, 4> kModels = {{{{"OPT-350", "opt-350m"}, 2048},
                                               {{"GPT-Neo-2.7", "gpt-neo-2.7b"}, 2048},
                                               {{"OPT-30", "opt-30b"}, 2048},
                                               {{"LLAMA-3-8", "llama-3-8b"}, 8192}}};
constexpr std::array<NamePair, 7> kAccelerators = {{{"A100-40", "nvidia-tesla-a100"},
                                                    {"A100-80", "nvidia-a100-80gb"},
                                                    {"V100-16", "nvidia-tesla-v100"},
                                                    {"GH-96", "nvidia-gh200"},
                                                    {"Titan-RTX", "nvidia-titan-rtx"},
                                                    {"RTX-2080", "nvidia-rtx-2080"},
                                                    {"RTX-3090", "nvidia-rtx-3090"}}};

template <class Table>
auto find_name(const Table& table, std::string_view name, std::string_view what) -> Result<typename Table::value_type> {
  std::string known;
  for (const auto& entry : table) {
    if (entry.in_artifact == name) return entry;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", entry.in_artifact);
  }
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("\"{}\" is not a {} of the artifact; it has {}", name, what, known));
}

// Thrown and caught inside this file. The message starts with the path of the wrong field.
struct FieldError {
  std::string message;
};

template <class T>
T required(Result<T> result, const std::string& path) {
  if (!result) throw FieldError{path + ": " + result.error().message};
  return *std::move(result);
}

int count_of(const std::string& text, const std::string& path) {
  const auto value = parse_number<int>(text);
  if (!value || *value < 1) {
    throw FieldError{fmt::format("{}: \"{}\" is not a whole number of at least 1", path, text)};
  }
  return *value;
}

double number_of(const Json& json, const std::string& path, double max) {
  if (!json.is_number() || !(json.get<double>() >= 0) || json.get<double>() > max) {
    throw FieldError{fmt::format("{}: {} is not a number from 0 to {}; measure it again", path, json.dump(), max)};
  }
  return json.get<double>();
}

void check_object(const Json& json, const std::string& path) {
  if (!json.is_object()) throw FieldError{path + ": is not a JSON object; download the file again"};
}

LayerTime time_of(const Json& json, const std::string& path) {
  constexpr double kMaxSeconds = 3600;
  if (!json.is_array() || json.size() != 3) {
    throw FieldError{path + ": is not [forward, backward, update] in seconds; measure it again"};
  }
  const auto seconds = [&](int i) { return Seconds(number_of(json[static_cast<std::size_t>(i)], path, kMaxSeconds)); };
  return {seconds(0), seconds(1), seconds(2)};
}

LayerMemory memory_of(const Json& json, const std::string& path) {
  constexpr double kFloat = 4;
  constexpr double kMaxFloats = 1e15;
  check_object(json, path);
  const auto floats = [&](const char* key) {
    if (!json.contains(key)) throw FieldError{fmt::format("{}: has no {}; measure it again", path, key)};
    return number_of(json.at(key), path + "." + key, kMaxFloats);
  };
  return {floats("params_floats"), Bytes(kFloat * floats("act_mem_floats")),
          Bytes(kFloat * floats("act_output_floats"))};
}

LayerTime merged(const LayerTime& a, const LayerTime& b) {
  return {a.forward + b.forward, a.backward + b.backward, a.update + b.update};
}
LayerMemory merged(const LayerMemory& a, const LayerMemory& b) {
  return {a.parameters + b.parameters, a.activations_per_sample + b.activations_per_sample, b.output_per_sample};
}

// Reads `count` layers. Files with one layer more list the final norm and the head separately: they become one layer.
template <class Read>
auto layers_of(const Json& json, const std::string& path, int count, Read read) {
  std::vector<decltype(read(json, path))> layers;
  check_object(json, path);
  const auto in_file = static_cast<int>(json.size());
  if (in_file != count && in_file != count + 1) {
    throw FieldError{
        fmt::format("{}: has {} layers, but the model has {}; measure it again or remove it", path, in_file, count)};
  }
  for (int i = 0; i < in_file; ++i) {
    const auto found = json.find(std::to_string(i));
    if (found == json.end())
      throw FieldError{fmt::format("{}: has no layer {}; measure it again or remove it", path, i)};
    layers.push_back(read(*found, fmt::format("{}.{}", path, i)));
  }
  if (in_file > count) {
    layers[layers.size() - 2] = merged(layers[layers.size() - 2], layers.back());
    layers.pop_back();
  }
  return layers;
}

void read_memory(const Json& memory, std::string_view model, ModelProfile& profile, int layers) {
  const auto found = memory.find(std::string(model));
  if (found == memory.end()) return;
  check_object(*found, std::string(model));
  for (const auto& [tensor_parallel, json] : found->items()) {
    const std::string path = fmt::format("{}.{}", model, tensor_parallel);
    profile.memory[count_of(tensor_parallel, path)] = layers_of(json, path, layers, memory_of);
  }
}

ModelProfile profile_of(const ModelName& model, const std::string& gpu, const Json& sizes) {
  const std::string path = fmt::format("{}.{}", model.in_artifact, gpu);
  const int layers = required(find_model(model.in_sailor), path).layer_count();
  ModelProfile profile{.model = std::string(model.in_sailor),
                       .accelerator = required(artifact_accelerator(gpu), path),
                       .precision = Precision::kFp32,
                       .sequence_length = model.sequence_length,
                       .times = {},
                       .memory = {},
                       .source = "layer_times.json of Sailor's artifact"};
  check_object(sizes, path);
  for (const auto& [size, groups] : sizes.items()) {
    const std::string at_size = fmt::format("{}.{}", path, size);
    check_object(groups, at_size);
    for (const auto& [tensor_parallel, json] : groups.items()) {
      const std::string at = fmt::format("{}.{}", at_size, tensor_parallel);
      profile.times[{count_of(size, at), count_of(tensor_parallel, at)}] = layers_of(json, at, layers, time_of);
    }
  }
  if (profile.times.empty()) throw FieldError{path + ": has no times; measure a microbatch size or remove it"};
  return profile;
}

ProfileBook profiles_of(const Json& times) {
  ProfileBook book;
  check_object(times, "the file");
  for (const auto& [name, gpus] : times.items()) {
    const ModelName model = required(find_name(kModels, name, "model"), name);
    check_object(gpus, name);
    for (const auto& [gpu, sizes] : gpus.items()) book.add(profile_of(model, gpu, sizes));
  }
  if (book.profiles().empty()) throw FieldError{"has no times of any model on any GPU; measure one or omit --profiles"};
  return book;
}

ProfileBook with_memory(const ProfileBook& book, const Json& memory) {
  ProfileBook result;
  for (ModelProfile profile : book.profiles()) {
    const auto model = std::ranges::find(kModels, profile.model, &ModelName::in_sailor);
    read_memory(memory, model->in_artifact, profile, static_cast<int>(profile.times.begin()->second.size()));
    result.add(std::move(profile));
  }
  return result;
}

}  // namespace

Result<Json> read_json_file(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) return tl::unexpected(error_in(file, "cannot be read; check its name and permissions"));
  try {
    return Json::parse(stream);
  } catch (const Json::parse_error& error) {
    return tl::unexpected(
        error_in(file, fmt::format("is not valid JSON from byte {} on; download it again", error.byte)));
  }
}

Result<Accelerator> artifact_accelerator(std::string_view name) {
  return find_name(kAccelerators, name, "GPU").map([](const NamePair& gpu) {
    return Accelerator(std::string(gpu.in_sailor));
  });
}

Result<std::string> artifact_model(std::string_view name) {
  return find_name(kModels, name, "model").map([](const ModelName& model) { return std::string(model.in_sailor); });
}

bool is_artifact(const std::filesystem::path& folder) {
  std::error_code error;
  return std::filesystem::exists(folder / "layer_times.json", error);
}

Result<ProfileBook> read_artifact_profiles(const std::filesystem::path& folder) {
  auto file = folder / "layer_times.json";
  const auto times = read_json_file(file);
  if (!times) return tl::unexpected(times.error());
  try {
    ProfileBook book = profiles_of(*times);
    file = folder / "layer_memory.json";
    if (!std::filesystem::exists(file)) return book;
    const auto memory = read_json_file(file);
    if (!memory) return tl::unexpected(memory.error());
    check_object(*memory, "the file");
    return with_memory(book, *memory);
  } catch (const FieldError& error) {
    return tl::unexpected(error_in(file, error.message));
  }
}

}  // namespace sailor
