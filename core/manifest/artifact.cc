// Names of the artifact, and its times and memory of layers.
#include "core/manifest/artifact.h"

#include <array>
#include <charconv>
#include <fstream>

#include <fmt/format.h>

#include "core/model/model_spec.h"

namespace sailor {
namespace {

using Json = nlohmann::json;

struct Renamed {
  std::string_view theirs;
  std::string_view ours;
};
struct RenamedModel : Renamed {
  int sequence_length = 0;  // that its figures are for
};

constexpr std::array<RenamedModel, 4> kModels = {{{{"OPT-350", "opt-350m"}, 2048},
                                                  {{"GPT-Neo-2.7", "gpt-neo-2.7b"}, 2048},
                                                  {{"OPT-30", "opt-30b"}, 2048},
                                                  {{"LLAMA-3-8", "llama-3-8b"}, 8192}}};
constexpr std::array<Renamed, 7> kAccelerators = {{{"A100-40", "nvidia-tesla-a100"},
                                                   {"A100-80", "nvidia-a100-80gb"},
                                                   {"V100-16", "nvidia-tesla-v100"},
                                                   {"GH-96", "nvidia-gh200"},
                                                   {"Titan-RTX", "nvidia-titan-rtx"},
                                                   {"RTX-2080", "nvidia-rtx-2080"},
                                                   {"RTX-3090", "nvidia-rtx-3090"}}};

template <class Table>
auto looked_up(const Table& table, std::string_view name, std::string_view what) -> Result<typename Table::value_type> {
  std::string known;
  for (const auto& entry : table) {
    if (entry.theirs == name) return entry;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", entry.theirs);
  }
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("\"{}\" is no {} of the artifact; known are {}", name, what, known));
}

// Thrown inside this file, caught at its front doors: the path of a field in front of what is wrong with it.
struct Wrong {
  std::string message;
};

template <class T>
T required(Result<T> result, const std::string& path) {
  if (!result) throw Wrong{path + ": " + result.error().message};
  return *std::move(result);
}

int count_of(const std::string& text, const std::string& path) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) {
    throw Wrong{fmt::format("{}: \"{}\" is no number from 1 on", path, text)};
  }
  return value;
}

double figure(const Json& json, const std::string& path, double most) {
  if (!json.is_number() || !(json.get<double>() >= 0) || json.get<double>() > most) {
    throw Wrong{fmt::format("{}: {} is no number from 0 to {}; measure it again", path, json.dump(), most)};
  }
  return json.get<double>();
}

const Json& object(const Json& json, const std::string& path) {
  if (!json.is_object()) throw Wrong{path + ": is no JSON object; fetch the file again"};
  return json;
}

LayerTime time_of(const Json& json, const std::string& path) {
  constexpr double kMostSeconds = 3600;
  if (!json.is_array() || json.size() != 3) {
    throw Wrong{path + ": is not [forward, backward, update] in seconds; measure it again"};
  }
  const auto seconds = [&](int i) { return Seconds(figure(json[static_cast<std::size_t>(i)], path, kMostSeconds)); };
  return {seconds(0), seconds(1), seconds(2)};
}

LayerMemory memory_of(const Json& json, const std::string& path) {
  constexpr double kFloat = 4;
  constexpr double kMostFloats = 1e15;
  const auto floats = [&](const char* key) {
    if (!object(json, path).contains(key)) throw Wrong{fmt::format("{}: has no {}; measure it again", path, key)};
    return figure(json.at(key), path + "." + key, kMostFloats);
  };
  return {floats("params_floats"), Bytes(kFloat * floats("act_mem_floats")),
          Bytes(kFloat * floats("act_output_floats"))};
}

LayerTime folded(const LayerTime& a, const LayerTime& b) {
  return {a.forward + b.forward, a.backward + b.backward, a.update + b.update};
}
LayerMemory folded(const LayerMemory& a, const LayerMemory& b) {
  return {a.parameters + b.parameters, a.activations_per_sample + b.activations_per_sample, b.output_per_sample};
}

// Ours has `count` layers. Where theirs has one more, the final norm and the head are two: they are folded into one.
template <class Read>
auto layers_of(const Json& json, const std::string& path, int count, Read read) {
  std::vector<decltype(read(json, path))> layers;
  const auto in_file = static_cast<int>(object(json, path).size());
  if (in_file != count && in_file != count + 1) {
    throw Wrong{fmt::format("{}: has {} layers where the model has {}; measure it again or leave it out", path, in_file,
                            count)};
  }
  for (int i = 0; i < in_file; ++i) {
    const auto found = json.find(std::to_string(i));
    if (found == json.end()) throw Wrong{fmt::format("{}: has no layer {}; measure it again or leave it out", path, i)};
    layers.push_back(read(*found, fmt::format("{}.{}", path, i)));
  }
  if (in_file > count) {
    layers[layers.size() - 2] = folded(layers[layers.size() - 2], layers.back());
    layers.pop_back();
  }
  return layers;
}

void read_memory(const Json& memory, std::string_view model, ModelProfile& profile, int layers) {
  const auto found = memory.find(std::string(model));
  if (found == memory.end()) return;
  for (const auto& [degree, json] : object(*found, std::string(model)).items()) {
    const std::string path = fmt::format("{}.{}", model, degree);
    profile.memory[count_of(degree, path)] = layers_of(json, path, layers, memory_of);
  }
}

ModelProfile profile_of(const RenamedModel& model, const std::string& gpu, const Json& sizes) {
  const std::string path = fmt::format("{}.{}", model.theirs, gpu);
  const int layers = required(find_model(model.ours), path).layer_count();
  ModelProfile profile{.model = std::string(model.ours),
                       .accelerator = required(artifact_accelerator(gpu), path),
                       .precision = Precision::kFp32,
                       .sequence_length = model.sequence_length,
                       .times = {},
                       .memory = {},
                       .source = "layer_times.json of Sailor's artifact"};
  for (const auto& [size, degrees] : object(sizes, path).items()) {
    const std::string at_size = fmt::format("{}.{}", path, size);
    for (const auto& [degree, json] : object(degrees, at_size).items()) {
      const std::string at = fmt::format("{}.{}", at_size, degree);
      profile.times[{count_of(size, at), count_of(degree, at)}] = layers_of(json, at, layers, time_of);
    }
  }
  if (profile.times.empty()) throw Wrong{path + ": has no times; measure a microbatch size or leave it out"};
  return profile;
}

ProfileBook profiles_of(const Json& times) {
  ProfileBook book;
  for (const auto& [name, gpus] : object(times, "all of it").items()) {
    const RenamedModel model = required(looked_up(kModels, name, "model"), name);
    for (const auto& [gpu, sizes] : object(gpus, name).items()) book.add(profile_of(model, gpu, sizes));
  }
  if (book.profiles().empty()) throw Wrong{"has no model with a GPU; measure one or omit --profiles"};
  return book;
}

ProfileBook with_memory(const ProfileBook& book, const Json& memory) {
  ProfileBook result;
  for (ModelProfile profile : book.profiles()) {
    const auto model = std::ranges::find(kModels, profile.model, &RenamedModel::ours);
    read_memory(memory, model->theirs, profile, static_cast<int>(profile.times.begin()->second.size()));
    result.add(std::move(profile));
  }
  return result;
}

Error in_file(const std::filesystem::path& file, const std::string& what) {
  return {ErrorCode::kInvalidArgument, fmt::format("{}: {}", file.string(), what)};
}

}  // namespace

Result<Json> read_json_file(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) return tl::unexpected(in_file(file, "cannot be read; check its name and permissions"));
  try {
    return Json::parse(stream);
  } catch (const Json::parse_error& error) {
    return tl::unexpected(in_file(file, fmt::format("is no JSON from byte {} on; fetch it again", error.byte)));
  }
}

Result<std::string> artifact_model(std::string_view name) {
  return looked_up(kModels, name, "model").map([](const RenamedModel& model) { return std::string(model.ours); });
}

Result<Accelerator> artifact_accelerator(std::string_view name) {
  return looked_up(kAccelerators, name, "GPU").map([](const Renamed& gpu) {
    return Accelerator(std::string(gpu.ours));
  });
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
    return with_memory(book, object(*memory, "all of it"));
  } catch (const Wrong& wrong) {
    return tl::unexpected(in_file(file, wrong.message));
  }
}

}  // namespace sailor
