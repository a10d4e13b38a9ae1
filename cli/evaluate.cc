#include "cli/evaluate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/input_files.h"
#include "cli/measured_runs.h"
#include "cli/results.h"
#include "cli/tables.h"
#include "core/manifest/files.h"

namespace sailor::cli {
namespace {

struct Comparison {
  double measured = 0;
  double estimated = 0;
  std::string flaw;  // why the measurement is excluded from the summary; empty: it is included

  [[nodiscard]] double error_percent() const { return 100 * (estimated / measured - 1); }
};

struct EvaluatedRun {
  std::string file;
  std::string group;          // hardware and model
  std::string reason;         // why there is no estimate; empty if there is one
  bool is_bad_input = false;  // the reason is bad input; otherwise the record does not describe a plan of Sailor
  std::optional<Comparison> time;
  std::optional<Comparison> memory;
};

struct Summary {
  double sum = 0;
  double max = 0;
  int runs = 0;

  void add(const std::optional<Comparison>& one) {
    if (!one || !one->flaw.empty()) return;
    const double error = std::abs(one->error_percent());
    sum += error;
    max = std::max(max, error);
    ++runs;
  }
  [[nodiscard]] double mean() const { return runs > 0 ? sum / runs : 0; }
};

struct Summaries {
  Summary time;
  Summary memory;

  void add(const EvaluatedRun& run) {
    time.add(run.time);
    memory.add(run.memory);
  }
};

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

nlohmann::json to_json(const Comparison& one) {
  nlohmann::json json{{"measured", one.measured}, {"estimated", one.estimated}, {"errorPercent", one.error_percent()}};
  if (!one.flaw.empty()) json["suspect"] = one.flaw;
  return json;
}

nlohmann::json to_json(const Summaries& summary) {
  nlohmann::json json;
  const auto add = [&](const std::string& name, const Summary& of) {
    json[name + "MeanErrorPercent"] = of.runs > 0 ? nlohmann::json(of.mean()) : nlohmann::json();
    json[name + "MaxErrorPercent"] = of.runs > 0 ? nlohmann::json(of.max) : nlohmann::json();
  };
  add("time", summary.time);
  add("memory", summary.memory);
  return json;
}

nlohmann::json to_json(const std::vector<EvaluatedRun>& runs, const Summaries& all,
                       const std::map<std::string, Summaries>& groups) {
  nlohmann::json json{{"runs", nlohmann::json::array()}, {"summary", to_json(all)}};
  for (const EvaluatedRun& run : runs) {
    nlohmann::json entry{{"file", run.file}};
    if (!run.group.empty()) entry["group"] = run.group;
    if (run.time) entry["time"] = to_json(*run.time);
    if (run.memory) entry["memory"] = to_json(*run.memory);
    if (!run.reason.empty()) entry["reason"] = run.reason;
    json["runs"].push_back(std::move(entry));
  }
  for (const auto& [group, summary] : groups) json["groups"][group] = to_json(summary);
  return json;
}

std::string error_of(const std::optional<Comparison>& one) {
  if (!one) return "-";
  return fmt::format("{:+.1f} %{}", one->error_percent(), one->flaw.empty() ? "" : " *");
}

std::vector<std::string> row_of(const EvaluatedRun& run) {
  const auto number = [](const std::optional<Comparison>& one, double Comparison::*which, double unit, int digits) {
    return one ? fmt::format("{:.{}f}", (*one).*which / unit, digits) : std::string("-");
  };
  constexpr double kGigabyte = 1e9;
  return {run.file.substr(0, run.file.rfind(".json")),
          number(run.time, &Comparison::measured, 1, 3),
          number(run.time, &Comparison::estimated, 1, 3),
          error_of(run.time),
          number(run.memory, &Comparison::measured, kGigabyte, 1),
          number(run.memory, &Comparison::estimated, kGigabyte, 1),
          error_of(run.memory)};
}

std::string as_table(const std::vector<EvaluatedRun>& runs, const Summaries& all,
                     const std::map<std::string, Summaries>& groups) {
  std::vector<std::vector<std::string>> rows{{"RUN", "SECONDS", "ESTIMATED", "ERROR", "GB", "ESTIMATED", "ERROR"}};
  std::string notes;
  for (const EvaluatedRun& run : runs) {
    rows.push_back(row_of(run));
    if (!run.reason.empty()) notes += fmt::format("{}: not estimated: {}\n", run.file, run.reason);
    for (const auto& [what, one] : {std::pair("time", run.time), std::pair("memory", run.memory)}) {
      if (one && !one->flaw.empty()) notes += fmt::format("* {}: {}: {}\n", run.file, what, one->flaw);
    }
  }
  const auto percent = [](const Summary& of, double value) {
    return of.runs > 0 ? fmt::format("{:.1f} %", value) : std::string("-");
  };
  std::vector<std::vector<std::string>> summary{{"GROUP", "TIME MEAN", "MAX", "MEMORY MEAN", "MAX"}};
  const auto add = [&](const std::string& name, const Summaries& of) {
    summary.push_back({name, percent(of.time, of.time.mean()), percent(of.time, of.time.max),
                       percent(of.memory, of.memory.mean()), percent(of.memory, of.memory.max)});
  };
  for (const auto& [group, of] : groups) add(group, of);
  add("all", all);
  return table(rows) + "\n" + notes + (notes.empty() ? "" : "* excluded from the summary\n\n") + table(summary);
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

Result<void> check_input(const std::vector<EvaluatedRun>& runs) {
  const auto bad = std::ranges::count_if(runs, &EvaluatedRun::is_bad_input);
  if (bad == 0) return {};
  const auto first = std::ranges::find_if(runs, &EvaluatedRun::is_bad_input);
  return fail(ErrorCode::kInvalidArgument, fmt::format("{} of {} records cannot be estimated; the first error: {}", bad,
                                                       runs.size(), first->reason));
}

}  // namespace

Result<void> run_evaluate(const EvaluateArguments& arguments, std::ostream& out) {
  const auto records = read_runs(arguments.runs);
  if (!records) return tl::unexpected(records.error());
  const auto measurements = read_measurements(arguments);
  if (!measurements) return tl::unexpected(measurements.error());
  std::vector<EvaluatedRun> runs;
  Summaries all;
  std::map<std::string, Summaries> groups;
  for (const RunRecord& record : *records) {
    runs.push_back(evaluated(record, *measurements));
    all.add(runs.back());
    if (!runs.back().group.empty()) groups[runs.back().group].add(runs.back());
  }
  if (arguments.format == Format::kTable) {
    out << as_table(runs, all, groups);
  } else {
    out << to_json(runs, all, groups).dump(2) << "\n";
  }
  return check_input(runs);
}

}  // namespace sailor::cli
