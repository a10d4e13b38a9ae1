// Reads the custom resource ModelProfile into the struct ModelProfile. The resource lists ranges of layers that cover
// each layer once.
#include <fmt/format.h>

#include "core/manifest/manifest.h"
#include "core/model/job_json.h"
#include "core/model/json_reader.h"
#include "core/model/size_limits.h"

namespace sailor {
namespace {

constexpr int kMostLayers = kMostBlocks + 2;  // with the embedding and the head

LayerTime time_from(JsonReader& reader) {
  constexpr double kMost = 3600;
  const auto seconds = [&](std::string_view key) {
    const auto value = optional_decimal(reader, key);
    if (!value) reader.record(key, "is missing");
    if (value > kMost) reader.record(key, fmt::format("{} s is above {}; measure it again", *value, kMost));
    return Seconds(value.value_or(0));
  };
  return {seconds("forwardSeconds"), seconds("backwardSeconds"), seconds("updateSeconds")};
}

LayerMemory memory_from(JsonReader& reader) {
  constexpr double kMost = 1e15;
  const auto number = [&](std::string_view key) {
    const auto value = reader.required<double>(key);
    if (value < 0 || value > kMost) reader.record(key, fmt::format("{} is not between 0 and {}", value, kMost));
    return value;
  };
  return {number("parameters"), Bytes(number("activationBytesPerSample")), Bytes(number("outputBytesPerSample"))};
}

// Reads the value of each range and assigns it to all layers of the range.
template <class T, class Read>
std::vector<T> layers_from(JsonReader& point, int layers, Read read) {
  std::vector<T> values(static_cast<std::size_t>(layers));
  std::vector<char> is_covered(values.size());
  const Json& ranges = point.list("layers");
  for (std::size_t i = 0; i < ranges.size() && !point.error(); ++i) {
    JsonReader range(ranges[i], fmt::format("{}[{}]", point.path_of("layers"), i));
    const int first = range.required<int>("first");
    const int last = range.required<int>("last");
    const T value = read(range);
    if (!range.error() && (first < 0 || first >= last || last > layers)) {
      range.record("last", fmt::format("[{}, {}) is not a range of the {} layers", first, last, layers));
    }
    if (const auto& error = range.error()) {
      point.absorb(*error);
      break;
    }
    for (int l = first; l < last; ++l) {
      const auto layer = static_cast<std::size_t>(l);
      if (is_covered[layer] != 0) range.record("first", fmt::format("layer {} is in two ranges", layer));
      is_covered[layer] = 1;
      values[layer] = value;
    }
    if (const auto& error = range.error()) point.absorb(*error);
  }
  const auto missing = std::ranges::find(is_covered, 0);
  if (missing != is_covered.end()) {
    point.record("layers", fmt::format("no range covers layer {} of {}", missing - is_covered.begin(), layers));
  }
  return values;
}

int positive(JsonReader& reader, std::string_view key) {
  const int value = reader.required<int>(key);
  if (!reader.error() && value < 1) reader.record(key, fmt::format("{} is below 1", value));
  return value;
}

// A coarse clock may measure 0 s for some layers, but with only such layers an iteration would take 0 s and its cost
// would be undefined.
void check_passes(JsonReader& point, const ProfilePoint& key, const std::vector<LayerTime>& layers) {
  const auto takes_time = [](const LayerTime& time) { return time.forward + time.backward > Seconds(0); };
  if (point.error() || std::ranges::any_of(layers, takes_time)) return;
  point.record("layers", fmt::format("all passes of microbatches of {} with tensor-parallel size {} take 0 s; measure "
                                     "this entry again",
                                     key.microbatch_size, key.tensor_parallel));
}

void read_times(JsonReader& spec, int layers, ModelProfile& profile) {
  const Json& points = spec.list("times");
  for (std::size_t i = 0; i < points.size() && !spec.error(); ++i) {
    JsonReader point(points[i], fmt::format("spec.times[{}]", i));
    const ProfilePoint key{positive(point, "microbatchSize"), positive(point, "tensorParallel")};
    auto times = layers_from<LayerTime>(point, layers, time_from);
    check_passes(point, key, times);
    if (!point.error() && !profile.times.emplace(key, std::move(times)).second) {
      point.record("microbatchSize",
                   fmt::format("{} on {} GPUs is listed twice", key.microbatch_size, key.tensor_parallel));
    }
    if (const auto& error = point.error()) spec.absorb(*error);
  }
}

void read_memory(JsonReader& spec, int layers, ModelProfile& profile) {
  const Json& groups = spec.list("memory");
  for (std::size_t i = 0; i < groups.size() && !spec.error(); ++i) {
    JsonReader group(groups[i], fmt::format("spec.memory[{}]", i));
    const int tensor_parallel = positive(group, "tensorParallel");
    profile.memory[tensor_parallel] = layers_from<LayerMemory>(group, layers, memory_from);
    if (const auto& error = group.error()) spec.absorb(*error);
  }
}

}  // namespace

Result<ModelProfile> profile_from_manifest(const Json& model_profile) {
  JsonReader root(model_profile, "");
  JsonReader spec(root.child("spec"), "spec");
  ModelProfile profile;
  profile.model = spec.required<std::string>("model");
  profile.accelerator = Accelerator(spec.required<std::string>("accelerator"));
  const auto precision = parse_precision(spec.required<std::string>("precision"));
  if (precision) profile.precision = *precision;
  if (!precision) spec.record("precision", precision.error().message);
  profile.sequence_length = positive(spec, "sequenceLength");
  profile.sequence_parallelism = read_sequence_parallelism(spec);
  const int layers = positive(spec, "layers");
  if (layers > kMostLayers) spec.record("layers", fmt::format("{} is above {}", layers, kMostLayers));
  if (!spec.error()) read_times(spec, layers, profile);
  if (!spec.error()) read_memory(spec, layers, profile);
  if (!spec.error() && profile.times.empty()) spec.record("times", "is empty; measure at least one microbatch size");
  const auto device = spec.value_or<std::string>("device", "");
  profile.source = spec.value_or<std::string>("source", device);
  if (const auto& error = root.error()) return tl::unexpected(*error);
  if (const auto& error = spec.error()) return tl::unexpected(*error);
  return profile;
}

}  // namespace sailor
