#include "operator/pages/fleet_page.h"

#include <map>

#include <fmt/format.h>

#include "operator/model/job_figures.h"
#include "operator/pages/page_parts.h"
#include "report/drawing.h"
#include "report/numbers.h"
#include "report/plan_view.h"

namespace sailor {
namespace {

using report::counted;
using report::Element;
using report::fact;
using report::money;
using report::percent;
using report::Row;

// What the jobs of the fleet have together.
struct Sums {
  std::map<std::string, int> jobs;  // by state
  int gpus = 0;
  double dollars_per_hour = 0;
  double dollars_spent = 0;
  double dollars_saved = 0;
  double useful_seconds = 0;
  double elapsed_seconds = 0;
};

// The state, and its reason unless the job just trains.
std::string state_with_reason(const JobInCluster& job) {
  const JobStatus& status = job.status;
  const bool is_usual =
      status.reason.empty() || status.reason == to_string(Reason::kTraining) || status.reason == status.state;
  return is_usual ? state_text(job) : fmt::format("{}: {}", state_text(job), status.reason);
}

Sums sums_of(const std::vector<JobInCluster>& jobs) {
  Sums sums;
  for (const JobInCluster& job : jobs) {
    ++sums.jobs[state_text(job)];
    if (const PlanStatus* plan = plan_in_use(job.status)) sums.gpus += plan->total_gpus;
    sums.dollars_per_hour += present_dollars_per_hour(job.status).value_or(0);
    if (!job.status.progress) continue;
    sums.dollars_spent += job.status.progress->dollars_spent;
    sums.dollars_saved += job.status.progress->saved_dollars;
    sums.useful_seconds += job.status.progress->useful_seconds;
    sums.elapsed_seconds += job.status.progress->elapsed_seconds;
  }
  return sums;
}

Element key_figures(const ShownFleet& view) {
  const Sums sums = sums_of(view.jobs);
  int allocatable = 0;
  for (const NodeView& node : view.cluster.nodes) allocatable += node.gpus;
  std::string states;
  for (const auto& [state, count] : sums.jobs)
    states += fmt::format("{}{} {}", states.empty() ? "" : ", ", state, count);
  Element facts("dl", {{"class", "facts"}});
  facts.add(fact("Jobs", counted(std::ssize(view.jobs)), states));
  facts.add(fact("GPUs of jobs", counted(sums.gpus), fmt::format("the cluster has {}", counted(allocatable))));
  facts.add(fact("Cost per hour", money(sums.dollars_per_hour), ""));
  facts.add(
      fact("Spent", money(sums.dollars_spent),
           sums.dollars_saved > 0 ? fmt::format("on demand it would be {} more", money(sums.dollars_saved)) : ""));
  if (sums.elapsed_seconds > 0)
    facts.add(fact("Goodput", percent(sums.useful_seconds / sums.elapsed_seconds), "of the time of these jobs"));
  return facts;
}

Row row_of(const JobInCluster& job) {
  const JobStatus& status = job.status;
  const PlanStatus* plan = plan_in_use(status);
  const StepStatus* steps = steps_of(status);
  const auto total = total_steps(status);
  const std::string step = steps == nullptr ? "0" : counted(steps->step);
  return {
      .cells = {to_string(job.key), state_with_reason(job), plan == nullptr ? kNothing : counted(plan->total_gpus),
                total ? fmt::format("{} of {}", step, counted(*total)) : step,
                text_or_nothing(time_left(status), report::duration),
                text_or_nothing(measured_tokens_per_second(status), [](std::int64_t speed) { return counted(speed); }),
                text_or_nothing(speed_over_plan(status), percent), text_or_nothing(useful_part(status), percent),
                text_or_nothing(present_dollars_per_hour(status), money),
                status.progress ? money(status.progress->dollars_spent) : kNothing},
      .link = fmt::format("jobs/{}/{}", job.key.namespace_name, job.key.name)};
}

Element jobs_section(const std::vector<JobInCluster>& jobs) {
  Element section("section");
  section.add(heading("Jobs"));
  if (jobs.empty()) return section.add(Element("p").text("There are no TrainingJobs that this operator looks at."));
  std::vector<Row> rows;
  rows.reserve(jobs.size());
  for (const JobInCluster& job : jobs) rows.push_back(row_of(job));
  return section.add(report::figure("", report::table({{"Job"},
                                                       {"State"},
                                                       {"GPUs", true},
                                                       {"Step", true},
                                                       {"Left", true},
                                                       {"Tokens/s", true},
                                                       {"Of plan", true},
                                                       {"Useful", true},
                                                       {"$/hour", true},
                                                       {"Spent", true}},
                                                      rows)));
}

std::string note_on(const PoolDeclaration& pool) {
  if (pool.name.empty()) return "";
  return pool.max_nodes ? fmt::format("{}; grows to {}", pool.name, counted(*pool.max_nodes, "node")) : pool.name;
}

Element pools_section(const ClusterView& cluster) {
  Element section("section");
  section.add(heading("GPUs"));
  if (cluster.pools.empty()) return section.add(Element("p").text("The cluster has no GPUs that the operator uses."));
  std::vector<Row> rows;
  for (const auto& [key, use] : use_of_pools(cluster)) {
    const auto pool = cluster.pools.find(key);
    const bool is_declared = pool != cluster.pools.end();
    rows.push_back({{report::pool_text(key), counted(use.ready_nodes), counted(use.allocatable), counted(use.used),
                     counted(use.free), use.terminating > 0 ? counted(use.terminating) : kNothing,
                     is_declared ? money(pool->second.price_per_gpu.value()) : kNothing,
                     is_declared ? note_on(pool->second) : ""}});
  }
  return section.add(report::figure("", report::table({{"Pool"},
                                                       {"Nodes ready", true},
                                                       {"GPUs", true},
                                                       {"Used", true},
                                                       {"Free", true},
                                                       {"Ending", true},
                                                       {"$/GPU/hour", true},
                                                       {"GpuPool"}},
                                                      rows)));
}

}  // namespace

std::string fleet_page(const ShownFleet& view, Time now) {
  Element content("main");
  content.add(Element("h1").text("Training jobs")).add(key_figures(view));
  content.add(jobs_section(view.jobs)).add(pools_section(view.cluster));
  return operator_page("Training jobs", content, now);
}

}  // namespace sailor
