#include "report/paper/claims.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sailor::paper {
namespace {

constexpr double kTolerance = 1.1;  // values that differ by less count as equal

// Which plan a column is about, by which simulator, and by which simulator the plans of the others are. By the
// execution model sailor-paper, plans of the paper's shape take the time that was recorded. Some plans of others do
// not: those whose stages have unequal numbers of replicas, which the paper's formula does not describe, and those with
// a stage in two regions. So the recorded values are the better ones for them.
struct Source {
  std::string_view planner;
  std::optional<Outcome> PlanResult::*outcome;
  std::optional<Outcome> PlanResult::*of_peers;
};

constexpr std::array<Source, kColumns - 1> kSources = {
    {{"sailor", &PlanResult::recorded, &PlanResult::recorded},
     {kOursPaper, &PlanResult::by_paper, &PlanResult::recorded},
     {kOursFlow, &PlanResult::by_paper, &PlanResult::recorded},
     {kOursTrainer, &PlanResult::by_trainer, &PlanResult::by_trainer}}};

std::optional<double> value_of(const CaseResult& one, std::string_view planner,
                               std::optional<Outcome> PlanResult::*outcome, Quantity of) {
  const PlanResult* plan = one.find(planner);
  if (plan == nullptr) return std::nullopt;
  const std::optional<Outcome>& value = plan->*outcome;
  if (!value) return std::nullopt;
  return of == Quantity::kThroughput ? value->throughput : value->cost.value();
}

std::optional<double> ratio(const std::optional<double>& a, const std::optional<double>& b) {
  return a && b && *b > 0 ? std::optional(*a / *b) : std::nullopt;
}

std::optional<double> mean(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

std::optional<double> mean_over_peer(const Claim& claim, const Source& source, const std::vector<CaseResult>& cases) {
  std::vector<double> ratios;
  for (const CaseResult& one : cases) {
    const auto ours = value_of(one, source.planner, source.outcome, claim.of);
    const auto theirs = value_of(one, claim.peer, source.of_peers, claim.of);
    const auto factor = claim.measure == Measure::kOverPeer ? ratio(ours, theirs) : ratio(theirs, ours);
    if (factor) ratios.push_back(*factor);
  }
  return mean(ratios);
}

std::optional<double> search_time(const Claim& claim, const Source& source, const CaseResult& one) {
  const bool is_recorded = source.outcome == &PlanResult::recorded;
  if (!claim.peer.empty() && !is_recorded) return std::nullopt;
  const PlanResult* plan = one.find(claim.peer.empty() ? source.planner : std::string_view(claim.peer));
  if (plan == nullptr || !plan->search) return std::nullopt;
  return plan->search->value();
}

std::string regions_text(const std::map<PoolKey, int>& gpus) {
  std::set<std::string> regions;
  for (const auto& [pool, count] : gpus) regions.insert(region_of(pool.zone).str());
  return fmt::format("{}", fmt::join(regions, ", "));
}

ClaimValue value_of(const Claim& claim, const Source& source, const std::vector<CaseResult>& cases) {
  const auto value_at = [&](std::size_t at) { return value_of(cases[at], source.planner, source.outcome, claim.of); };
  const auto text_at = [&](const auto& text) {
    const PlanResult* plan = cases[claim.at].find(source.planner);
    return plan == nullptr ? "" : text(plan->gpus);
  };
  switch (claim.measure) {
    case Measure::kOverPeer:
    case Measure::kUnderPeer:
      return {mean_over_peer(claim, source, cases), ""};
    case Measure::kOverCase:
      return {ratio(value_at(claim.at), value_at(claim.base)), ""};
    case Measure::kValue:
      return {value_at(claim.at), ""};
    case Measure::kSearch:
      return {search_time(claim, source, cases[claim.at]), ""};
    case Measure::kGpus:
      return {std::nullopt, text_at(gpus_text)};
    case Measure::kRegions:
      return {std::nullopt, text_at(regions_text)};
    default:
      return {};
  }
}

std::optional<double> mean_error(const Claim& claim, const std::vector<RunErrors>& runs) {
  const auto error = claim.measure == Measure::kTimeError ? &RunErrors::time : &RunErrors::memory;
  std::vector<double> errors;
  for (const RunErrors& run : runs) {
    const std::optional<double>& one = run.*error;
    if (one && run.file.starts_with(claim.runs)) errors.push_back(std::abs(*one));
  }
  return mean(errors);
}

ClaimResult compared(const Claim& claim, const std::vector<CaseResult>& cases, const std::vector<RunErrors>& runs) {
  ClaimResult result{claim, {}};
  if (claim.measure == Measure::kTimeError || claim.measure == Measure::kMemoryError) {
    result.values[static_cast<std::size_t>(Column::kMeasured)].number = mean_error(claim, runs);
    return result;
  }
  if (claim.measure == Measure::kNone) return result;
  for (std::size_t i = 0; i < kSources.size(); ++i) result.values[i] = value_of(claim, kSources[i], cases);
  return result;
}

// "nvidia-tesla-a100" is A100.
std::string short_name(const Accelerator& accelerator) {
  std::string name = accelerator.str();
  for (const std::string_view prefix : {"nvidia-", "tesla-"}) {
    if (name.starts_with(prefix)) name.erase(0, prefix.size());
  }
  name = name.substr(0, name.find('-'));
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

// A smaller error, or a shorter time than a limit, is as good as the paper's.
bool may_be_less(const Claim& claim) {
  return claim.published.is_limit || claim.measure == Measure::kTimeError || claim.measure == Measure::kMemoryError;
}

bool is_off(const Claim& claim, const Range& published, double ours) {
  if (ours > published.high * (claim.published.is_limit ? 1 : kTolerance)) return true;
  return !may_be_less(claim) && ours * kTolerance < published.low;
}

}  // namespace

const ClaimValue& ClaimResult::comparable() const {
  const ClaimValue& measured = at(Column::kMeasured);
  return measured.is_empty() ? at(Column::kPaperSpace) : measured;
}

bool ClaimResult::is_compared() const {
  const Published& published = claim.published;
  return (published.range && comparable().number) || (!published.text.empty() && !comparable().text.empty());
}

bool ClaimResult::differs() const {
  const ClaimValue& ours = comparable();
  if (claim.published.range && ours.number) return is_off(claim, *claim.published.range, *ours.number);
  return is_compared() && ours.text != claim.published.text;
}

ExperimentResult compare(const Experiment& experiment, std::vector<CaseResult> cases,
                         const std::vector<RunErrors>& runs) {
  ExperimentResult result{&experiment, std::move(cases), {}};
  for (const Claim& claim : experiment.claims) result.claims.push_back(compared(claim, result.cases, runs));
  return result;
}

std::string gpus_text(const std::map<PoolKey, int>& gpus) {
  std::map<std::string, int> counts;
  std::set<Zone> zones;
  for (const auto& [pool, count] : gpus) {
    counts[short_name(pool.accelerator)] += count;
    zones.insert(pool.zone);
  }
  std::string text;
  for (const auto& [name, count] : counts) text += fmt::format("{}{} {}", text.empty() ? "" : " + ", count, name);
  return zones.size() > 1 ? fmt::format("{} in {} zones", text, zones.size()) : text;
}

}  // namespace sailor::paper
