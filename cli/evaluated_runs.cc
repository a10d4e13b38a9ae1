#include "cli/evaluated_runs.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/input_files.h"
#include "cli/measured_runs.h"
#include "core/manifest/files.h"

namespace sailor::cli {
namespace {

struct Measurements {
  std::string folder;
  ProfileBook profiles;
  NetworkMeasurements network;
  std::optional<ExecutionModel> execution;  // absent: that of the cluster on which a run was made
};

EvaluatedRun evaluated(const RunRecord& record, const Measurements& measurements) {
  EvaluatedRun result{.file = record.file};
  const auto execution = record.run.and_then([&](const MeasuredRun& run) {
    return measurements.execution ? Result<ExecutionModel>(*measurements.execution) : execution_of(run);
  });
  if (!execution) {
    result.reason = execution.error().message;
    result.is_bad_input = !record.run && record.run.error().code == ErrorCode::kInvalidArgument;
    return result;
  }
  result.group = fmt::format("{} {}", execution->name, record.run->job.model.name);
  auto estimate = estimate_run(*record.run, measurements.profiles, measurements.network, *execution);
  if (!estimate) {
    result.reason = std::move(estimate.error()).within(measurements.folder).message;
    result.is_bad_input = true;
    return result;
  }
  const MeasurementFlaw flaw = known_flaw_of(record.file);
  if (record.run->time > Seconds(0)) {
    result.time = {record.run->time.value(), estimate->time.value(), std::string(flaw.time)};
  }
  if (record.run->memory > Bytes(0)) {
    result.memory = {record.run->memory.value(), estimate->memory.value(), std::string(flaw.memory)};
  }
  return result;
}

Result<Measurements> read_measurements(const EvaluateArguments& arguments) {
  const std::string& folder = arguments.profiles;
  auto profiles = read_profiles(folder);
  if (!profiles) return tl::unexpected(std::move(profiles.error()));
  auto network = read_network_measurements(folder);
  if (!network) return tl::unexpected(std::move(network.error()));
  Measurements all{folder, *std::move(profiles), *std::move(network), {}};
  if (arguments.execution.empty()) return all;
  auto execution = named_execution_model(arguments.execution);
  if (!execution) return tl::unexpected(std::move(execution.error()));
  all.execution = *std::move(execution);
  return all;
}

}  // namespace

Result<std::vector<EvaluatedRun>> evaluated_runs(const EvaluateArguments& arguments) {
  const auto records = read_runs(arguments.runs);
  if (!records) return tl::unexpected(records.error());
  const auto measurements = read_measurements(arguments);
  if (!measurements) return tl::unexpected(measurements.error());
  std::vector<EvaluatedRun> runs;
  runs.reserve(records->size());
  for (const RunRecord& record : *records) runs.push_back(evaluated(record, *measurements));
  return runs;
}

Result<void> check_all_estimated(const std::vector<EvaluatedRun>& runs) {
  const auto bad = std::ranges::count_if(runs, &EvaluatedRun::is_bad_input);
  if (bad == 0) return {};
  const auto first = std::ranges::find_if(runs, &EvaluatedRun::is_bad_input);
  return fail(ErrorCode::kInvalidArgument, fmt::format("{} of {} records cannot be estimated; the first error: {}", bad,
                                                       runs.size(), first->reason));
}

}  // namespace sailor::cli
