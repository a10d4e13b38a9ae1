// The GPUs that the records of jobs claim before their pods exist.
#pragma once

#include <vector>

#include "operator/kube/object.h"
#include "operator/model/cluster_view.h"
#include "operator/model/record.h"

namespace sailor {

// Returns whether a job may use GPUs: it has not ended, is not suspended and is not being deleted.
bool may_use_gpus(const kube::Json& job);

// Appends the claims of a record. The pods of a committed generation exist and are counted, so it claims nothing.
void append_claims(const GenerationRecord& record, std::vector<Claim>& claims);

}  // namespace sailor
