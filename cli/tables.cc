#include "cli/tables.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/model/plan_hash.h"
#include "report/numbers.h"
#include "report/plan_view.h"

namespace sailor::cli {
namespace {

std::string gib(Bytes amount) { return fmt::format("{:.1f} GiB", amount / gibibytes(1)); }

std::string seconds(Seconds time) {
  const double value = time.value();
  return value >= 1 ? fmt::format("{:.3f} s", value) : fmt::format("{:.2f} ms", value * 1e3);
}

std::string dollars(double amount) { return fmt::format("${:.4g}", amount); }

std::string part_of(Seconds part, Seconds whole) {
  return fmt::format("{} ({:.0f} %)", seconds(part), 100 * (part / whole));
}

// The number of replicas with the same pool, tensor_parallel and number of microbatches.
std::map<std::tuple<PoolKey, int, int>, int> equal_replicas(const Stage& stage) {
  std::map<std::tuple<PoolKey, int, int>, int> groups;
  for (const Replica& replica : stage.replicas) {
    ++groups[{replica.pool, replica.tensor_parallel, replica.microbatches}];
  }
  return groups;
}

std::string stages_text(const std::vector<int>& stages) {
  return fmt::format("stage{} {}", stages.size() == 1 ? "" : "s", fmt::join(stages, ", "));
}

std::string expected_loss(const ExpectedLoss& loss) {
  std::string text = fmt::format(
      "{} on top of the training time: a node fails every {}, which costs {}", report::percent(loss.ratio()),
      report::duration(Seconds(3600 / loss.failures_per_hour)), report::duration(loss.per_failure));
  if (!loss.exposed_stages.empty()) {
    text += fmt::format("; state of {} is on one node only", stages_text(loss.exposed_stages));
  }
  return text;
}

std::string pools_of(const Estimate& estimate) {
  std::string text;
  for (const auto& [pool, gpus] : estimate.gpus) {
    text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", gpus, to_string(pool));
  }
  return text;
}

// Breaks the text into lines of at most 100 columns, which begin at column 10.
std::string paragraph(std::string_view text) {
  constexpr std::size_t kColumns = 90;
  std::string lines;
  while (text.size() > kColumns) {
    const std::size_t end = text.rfind(' ', kColumns);
    if (end == std::string_view::npos) break;
    lines += fmt::format("{}\n          ", text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return lines + std::string(text) + "\n";
}

}  // namespace

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}", row[i], widths[i] + 2);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string describe_plan(const Plan& plan, const Estimate& estimate) {
  std::vector<std::vector<std::string>> rows{
      {"STAGE", "LAYERS", "REPLICAS", "GPUS EACH", "MICROBATCHES EACH", "MEMORY", "POOL"}};
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    bool is_first = true;
    for (const auto& [key, count] : equal_replicas(plan.stages[i])) {
      const auto& [pool, tensor_parallel, microbatches] = key;
      rows.push_back({is_first ? fmt::format("{}", i) : "",
                      is_first ? fmt::format("{}-{}", plan.stages[i].first_layer, plan.stages[i].last_layer - 1) : "",
                      fmt::format("{}", count), fmt::format("{}", tensor_parallel), fmt::format("{}", microbatches),
                      is_first ? gib(estimate.memory[i].total()) : "", to_string(pool)});
      is_first = false;
    }
  }
  return fmt::format("Plan {} of {}: {} of {}, {}\n\n{}", plan_hash(plan), plan.model,
                     report::microbatches_text(plan.microbatches()), plan.microbatch_size,
                     report::counted(gpu_count(plan), "GPU"), table(rows));
}

std::string describe_estimate(const Estimate& estimate) {
  const TimeBreakdown& time = estimate.time;
  std::string text = table({
      {"Iteration", seconds(estimate.iteration)},
      {"  compute", part_of(time.compute, estimate.iteration)},
      {"  pipeline bubble", part_of(time.bubble, estimate.iteration)},
      {"  point to point", part_of(time.point_to_point, estimate.iteration)},
      {"  gradient sync", part_of(time.gradient_sync, estimate.iteration)},
      {"  update", part_of(time.update, estimate.iteration)},
      {"Throughput",
       fmt::format("{:.4g} iterations/s, {:.0f} tokens/s", estimate.throughput(), estimate.tokens_per_second)},
      {"Cost",
       fmt::format("{} per iteration ({} GPUs, {} traffic), {} per hour",
                   dollars(estimate.cost_per_iteration().value()), dollars(estimate.gpu_cost_per_iteration.value()),
                   dollars(estimate.traffic_cost_per_iteration.value()), dollars(estimate.cost_per_hour.value()))},
      {"GPUs", pools_of(estimate)},
      {"Expected loss", expected_loss(estimate.expected_loss)},
      {"Fits", estimate.fits() ? "yes" : "NO"},
  });
  for (const std::string& violation : estimate.violations) text += fmt::format("  {}\n", violation);
  for (const std::string& note : estimate.notes) text += fmt::format("Note: {}\n", note);
  return text;
}

std::string describe_basis(const EstimateBasis& basis) { return "Rests on  " + paragraph(report::basis_text(basis)); }

std::string describe_search(const PlannedJob& planned) {
  const std::string move =
      planned.pause > Seconds(0) ? fmt::format("Move      training pauses for {}\n", seconds(planned.pause)) : "";
  const bool is_free = planned.estimate.cost_per_iteration() <= Dollars(0);  // then the ratio is not defined
  const std::string share =
      is_free ? "" : fmt::format(", {:.0f} % of the cost of this plan", 100 * planned.cost_bound_ratio());
  return move + fmt::format(
                    "Bound     no plan can exceed {:.4g} iterations/s; this plan reaches {:.0f} % of that\n"
                    "          no plan can cost less than ${:.4g} per iteration{}\n"
                    "Search    {} candidates in {}, {} of them did not fit into memory{}\n",
                    planned.bound_throughput, 100 * planned.bound_ratio(), planned.bound_cost.value(), share,
                    planned.search.candidates, seconds(planned.search.elapsed), planned.search.pruned_by_memory,
                    planned.search.was_cut_short
                        ? "; stopped at the time limit, a longer search might find a better plan"
                        : "");
}

std::string describe_alternatives(const JobSpec& job, const PlannedJob& planned) {
  if (planned.alternatives.size() < 2) return "";
  std::vector<std::vector<std::string>> rows{
      {"ITERATIONS/S", "$/ITERATION", "$/HOUR", "EXPECTED LOSS", "GPUS", "STAGES", "PLAN"}};
  for (const EstimatedPlan& other : planned.alternatives) {
    rows.push_back({fmt::format("{:.4g}", other.estimate.throughput()),
                    fmt::format("{:.4g}", other.estimate.cost_per_iteration().value()),
                    fmt::format("{:.4g}", other.estimate.cost_per_hour.value()),
                    report::percent(other.estimate.expected_loss.ratio()), fmt::format("{}", gpu_count(other.plan)),
                    fmt::format("{}", other.plan.stages.size()),
                    plan_hash(other.plan) + (other.plan == planned.plan ? "  <- chosen" : "")});
  }
  return fmt::format("\nAlternatives (none is both faster and cheaper than another{}):\n\n",
                     counts_losses(job) ? ", expected losses included" : "") +
         table(rows);
}

}  // namespace sailor::cli
