// The objects of the API server that the operator keeps for a job: the JobRecord, which stores the record, and a
// ConfigMap, which shows the newest plan to people. Both are owned by the job.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "operator/model/record.h"

namespace sailor {

// Returns the JobRecord that stores the record. Writing it fails unless the stored JobRecord still has the
// resourceVersion `version`; "" means that no JobRecord must exist.
kube::Json job_record_of(const GenerationRecord& record, const JobKey& job, const std::string& version);
Result<GenerationRecord> record_of(const kube::Json& job_record);
// Returns the names of the nodes that have, or are to have, pods of the job, also if the rest cannot be read.
std::set<std::string> nodes_of(const kube::Json& job_record);

// Returns the ConfigMap that shows the plan of the record. The operator never reads the plan from it.
kube::Json plan_map_of(const GenerationRecord& record, const JobKey& job);

// Returns the record that an operator without JobRecords has left in the ConfigMap, or nothing if there is none. The
// next write of the ConfigMap removes it, so it is read only once.
std::optional<Result<GenerationRecord>> record_of_older_operator(const kube::Json& plan_map);

// Returns the part of a ConfigMap that the functions above and Observation::plan_map need.
kube::Json without_plan(kube::Json plan_map);

}  // namespace sailor
