// A job of a cluster as text for people. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/model/plan.h"
#include "operator/kube/time.h"
#include "operator/model/job_in_cluster.h"

namespace sailor::cli {

// One row for each job, and the sum of several. `with_namespace` adds a column.
std::string describe_jobs(const std::vector<JobInCluster>& jobs, bool with_namespace);

// What the job does, what it waits for, how fast it is, what it costs, where its time went, and its plan if it is
// known.
std::string explain_job(const JobInCluster& job, const std::optional<Plan>& plan, Time now);

// Says that the job has no pods, and why.
std::string explain_missing_pods(const JobInCluster& job, Time now);

// One row for each change of plan, the oldest first.
std::string describe_history(const JobInCluster& job);

// Merges the output of `kubectl logs --prefix --timestamps` of several pods in the order of its times. A line without a
// time stays behind the one before it.
std::string in_order_of_time(const std::string& logs);

}  // namespace sailor::cli
