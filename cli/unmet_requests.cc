#include "cli/unmet_requests.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/model/tensor_parallel.h"
#include "report/compared_plans.h"

namespace sailor::cli {

std::vector<std::string> unmet_requests(const JobSpec& job, const Plan& plan, const Estimate& estimate) {
  std::vector<std::string> notes;
  if (const std::string limit = report::broken_limit(job.objective, estimate); !limit.empty()) {
    notes.push_back(fmt::format("the planner would not choose this plan: {}", limit));
  }
  const std::vector<int>& sizes = job.training.microbatch_sizes;
  if (std::ranges::find(sizes, plan.microbatch_size) == sizes.end()) {
    notes.push_back(fmt::format("the planner would not choose this plan: microbatchSize {} is none of the job's {}",
                                plan.microbatch_size, fmt::join(sizes, ", ")));
  }
  int largest = 1;
  for (const Stage& stage : plan.stages) {
    for (const Replica& replica : stage.replicas) largest = std::max(largest, replica.tensor_parallel);
  }
  if (const int most = max_tensor_parallel(job.model); largest > most) {
    notes.push_back(
        fmt::format("no trainer can run this plan: it splits layers over {} GPUs, and those of {} can be "
                    "split over {} at most",
                    largest, job.model.name, most));
  }
  return notes;
}

}  // namespace sailor::cli
