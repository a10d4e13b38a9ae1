// Reads an ExecutionModel, from a file or from a NetworkModel.
#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "core/manifest/manifest.h"
#include "core/model/job_json.h"

namespace sailor {
namespace {

struct Range {
  double least = 0;
  double most = 0;
};
constexpr Range kShare{0.001, 1000};
constexpr Range kPart{0, 1};
constexpr Range kMicroseconds{0, 60e6};
constexpr Range kMebibytes{0, 1e6};
constexpr Range kGibibytes{0, 1000};
constexpr Range kPerParameter{0, 1000};  // bytes, and matrices per layer

// Returns the number if it is stated and in the range.
std::optional<double> number(JsonReader& reader, std::string_view key, const Range& range) {
  const auto given = optional_decimal(reader, key);
  if (!given) return std::nullopt;
  if (*given >= range.least && *given <= range.most) return given;
  reader.record(key, fmt::format("{} is not between {} and {}", *given, range.least, range.most));
  return std::nullopt;
}

void read_number(JsonReader& reader, std::string_view key, const Range& range, double& value) {
  value = number(reader, key, range).value_or(value);
}

void read_microseconds(JsonReader& reader, std::string_view key, Seconds& value) {
  if (const auto given = number(reader, key, kMicroseconds)) value = Seconds(*given * 1e-6);
}

template <class T>
struct Choice {
  std::string_view name;
  T value;
};

template <class T>
void read_choice(JsonReader& reader, std::string_view key, const std::array<Choice<T>, 2>& choices, T& value) {
  const auto given = reader.optional<std::string>(key);
  if (!given) return;
  const auto found = std::ranges::find(choices, *given, &Choice<T>::name);
  if (found == choices.end()) {
    reader.record(key, fmt::format("\"{}\" is unknown; use {} or {}", *given, choices[0].name, choices[1].name));
  } else {
    value = found->value;
  }
}

void read_passes(JsonReader& reader, ExecutionModel& model) {
  read_choice<SchedulePolicy>(
      reader, "schedule",
      {{{"Flow", SchedulePolicy::kFlow}, {"OneForwardOneBackward", SchedulePolicy::kOneForwardOneBackward}}},
      model.schedule);
  read_microseconds(reader, "overheadMicroseconds", model.pass_overhead);
  read_number(reader, "launchExposed", kPart, model.launch_exposed);
}

void read_messages(JsonReader& reader, ExecutionModel& model) {
  model.messages_beside_passes = reader.value_or("besidePasses", model.messages_beside_passes);
  model.messages_by_group = reader.value_or("byGroup", model.messages_by_group);
  read_number(reader, "shareOfRate", kShare, model.message_share);
  read_microseconds(reader, "latencyMicroseconds", model.message_latency);
  model.receives_in_order = reader.value_or("receivesInOrder", model.receives_in_order);
  if (const auto buffer = number(reader, "sendBufferMebibytes", kMebibytes)) {
    model.send_buffer = gibibytes(*buffer / 1024);
  }
}

void read_sums(JsonReader& reader, ExecutionModel& model) {
  model.sums_beside_passes = reader.value_or("besidePasses", model.sums_beside_passes);
  read_number(reader, "shareOfRate", kShare, model.sum_share);
  read_choice<SumAlgorithm>(reader, "algorithm", {{{"Ring", SumAlgorithm::kRing}, {"Fastest", SumAlgorithm::kFastest}}},
                            model.sum_algorithm);
}

void read_memory(JsonReader& reader, MemoryOverheads& memory) {
  constexpr Range kMargin{0, 0.9};
  read_number(reader, "margin", kMargin, memory.margin);
  if (const auto context = number(reader, "contextGibibytes", kGibibytes)) memory.context = gibibytes(*context);
  read_number(reader, "bytesPerParameter", kPerParameter, memory.bytes_per_parameter);
  read_number(reader, "scoreMatrices", kPerParameter, memory.score_matrices);
  read_choice<LogitsInMemory>(reader, "logits",
                              {{{"Chunk", LogitsInMemory::kChunk}, {"Microbatch", LogitsInMemory::kMicrobatch}}},
                              memory.logits);
}

// The model whose figures hold where the document states nothing.
ExecutionModel base_of(JsonReader& reader) {
  const auto name = reader.optional<std::string>("base");
  if (!name) return default_execution_model();
  if (const ExecutionModel* base = find_execution_model(*name)) return *base;
  reader.record("base", fmt::format("\"{}\" is unknown; use one of {}", *name, execution_model_names()));
  return default_execution_model();
}

template <class Read, class Target>
void read_part(JsonReader& reader, std::string_view key, Read read, Target& target) {
  JsonReader part(reader.child(key), reader.path_of(key));
  read(part, target);
  if (const auto& error = part.error()) reader.absorb(*error);
}

}  // namespace

ExecutionModel execution_from(JsonReader& reader) {
  ExecutionModel model = base_of(reader);
  model.uses_paper_formula = false;  // it has no such figures
  model.source = reader.value_or<std::string>("source", "a file that does not say where its figures are from");
  model.is_measured = reader.value_or("measured", false);
  read_number(reader, "updateShare", kShare, model.update_share);
  read_part(reader, "passes", read_passes, model);
  read_part(reader, "messages", read_messages, model);
  read_part(reader, "sums", read_sums, model);
  read_part(reader, "memory", read_memory, model.memory);
  return model;
}

Result<ExecutionModel> execution_from_manifest(const Json& execution_model) {
  JsonReader root(execution_model, "");
  JsonReader metadata(root.child("metadata"), "metadata");
  JsonReader spec(root.child("spec"), "spec");
  ExecutionModel model = execution_from(spec);
  model.name = metadata.value_or<std::string>("name", "file");
  for (const JsonReader* reader : {&root, &metadata, &spec}) {
    if (const auto& error = reader->error()) return tl::unexpected(*error);
  }
  return model;
}

}  // namespace sailor
