// The spec of a job that is to be suspended although its spec is invalid.
#pragma once

#include <functional>
#include <optional>

#include "operator/model/record.h"

namespace sailor {

// Returns a spec with which the job can save its state and release its GPUs: what its workers were told, as the record
// says, and the model and the data of `job`. If these cannot be read either, returns a spec that releases the GPUs
// without saving the state, or an error if not even the record says what the workers were told.
Result<JobSpec> spec_to_suspend(const kube::Json& job, const std::optional<GenerationRecord>& record,
                                const std::function<Result<JobSpec>(const kube::Json&)>& read_job);

}  // namespace sailor
