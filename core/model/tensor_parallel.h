// How far the layers of a model can be split over the GPUs of a node.
#pragma once

#include "core/model/job_spec.h"

namespace sailor {

// The highest degree at which every GPU of a group has something to compute: a key-value head, with the heads that
// share it, is computed by one GPU; columns and words are many more.
int max_tensor_parallel(const ModelSpec& spec);

// The same of a job, whose groups may have to deal the tokens of a sequence evenly: among powers of two.
int max_tensor_parallel(const JobSpec& job);

}  // namespace sailor
