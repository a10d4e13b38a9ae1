#include "cli/paper.h"

#include <filesystem>
#include <ostream>

#include <fmt/format.h>

#include "cli/evaluated_runs.h"
#include "cli/paper_output.h"
#include "cli/results.h"
#include "report/paper_page.h"

namespace sailor::cli {
namespace {

using paper::ExperimentResult;

Result<std::vector<const paper::Experiment*>> chosen_experiments(const std::vector<std::string>& ids) {
  std::vector<const paper::Experiment*> chosen;
  for (const std::string& id : ids) {
    const auto found = paper::find_experiment(id);
    if (!found) return tl::unexpected(Error(found.error()).within("--only"));
    chosen.push_back(*found);
  }
  if (!ids.empty()) return chosen;
  for (const paper::Experiment& experiment : paper::evaluation().experiments) chosen.push_back(&experiment);
  return chosen;
}

Result<void> check_folder(const std::string& option, const std::string& folder) {
  std::error_code error;
  if (folder.empty() || std::filesystem::is_directory(folder, error)) return {};
  return fail(ErrorCode::kInvalidArgument, fmt::format("{} {}: is not a folder; check its name", option, folder));
}

std::optional<double> error_of(const std::optional<Comparison>& one) {
  if (!one || !one->flaw.empty()) return std::nullopt;
  return one->error_percent() / 100;
}

// The errors of measured runs are those that `sailor evaluate` prints.
Result<std::vector<paper::RunErrors>> read_run_errors(const PaperArguments& arguments) {
  std::vector<paper::RunErrors> errors;
  if (arguments.measured.empty()) return errors;
  const auto runs = evaluated_runs({.runs = arguments.measured, .profiles = arguments.artifact});
  if (!runs) return tl::unexpected(runs.error());
  if (auto checked = check_all_estimated(*runs); !checked) return tl::unexpected(std::move(checked.error()));
  for (const EvaluatedRun& run : *runs) errors.push_back({run.file, error_of(run.time), error_of(run.memory)});
  return errors;
}

// Gives each experiment its cases, in the order in which they were collected.
std::vector<ExperimentResult> results_of(const std::vector<const paper::Experiment*>& experiments,
                                         std::vector<paper::CaseResult> cases,
                                         const std::vector<paper::RunErrors>& runs) {
  std::vector<ExperimentResult> results;
  auto first = cases.begin();
  for (const paper::Experiment* experiment : experiments) {
    const auto last = first + static_cast<std::ptrdiff_t>(experiment->cases.size());
    results.push_back(compare(*experiment, {std::make_move_iterator(first), std::make_move_iterator(last)}, runs));
    first = last;
  }
  return results;
}

}  // namespace

Result<void> run_paper(const PaperArguments& arguments, std::ostream& out, std::stop_token stop) {
  const auto experiments = chosen_experiments(arguments.only);
  if (!experiments) return tl::unexpected(experiments.error());
  const auto artifact = paper::read_artifact(arguments.artifact);
  if (!artifact) return tl::unexpected(artifact.error());
  if (auto checked = check_folder("--peer-plans", arguments.peer_plans); !checked) return checked;
  const auto runs = read_run_errors(arguments);
  if (!runs) return tl::unexpected(runs.error());
  std::vector<const paper::Case*> cases;
  for (const paper::Experiment* experiment : *experiments) {
    for (const paper::Case& one : experiment->cases) cases.push_back(&one);
  }
  auto done = paper::run_cases(cases, *artifact, arguments.peer_plans, std::move(stop));
  if (!done) return tl::unexpected(std::move(done.error()));
  const auto results = results_of(*experiments, *std::move(done), *runs);
  if (arguments.format == Format::kHtml) {
    out << report::paper_page(results);
  } else if (arguments.format == Format::kTable) {
    out << paper_table(results);
  } else if (arguments.format == Format::kMarkdown) {
    out << paper_markdown(results);
  } else {
    print_json(paper_json(results), arguments.format, out);
  }
  return {};
}

}  // namespace sailor::cli
