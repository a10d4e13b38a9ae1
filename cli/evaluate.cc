#include "cli/evaluate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/evaluated_runs.h"
#include "cli/tables.h"

namespace sailor::cli {
namespace {

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

}  // namespace

Result<void> run_evaluate(const EvaluateArguments& arguments, std::ostream& out) {
  const auto runs = evaluated_runs(arguments);
  if (!runs) return tl::unexpected(runs.error());
  Summaries all;
  std::map<std::string, Summaries> groups;
  for (const EvaluatedRun& run : *runs) {
    all.add(run);
    if (!run.group.empty()) groups[run.group].add(run);
  }
  if (arguments.format == Format::kTable) {
    out << as_table(*runs, all, groups);
  } else {
    out << to_json(*runs, all, groups).dump(2) << "\n";
  }
  return check_all_estimated(*runs);
}

}  // namespace sailor::cli
