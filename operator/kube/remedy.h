// Remedies: what people can do when the API server refuses to create a pod.
#pragma once

#include <string>

#include "operator/kube/api_error.h"

namespace sailor::kube {

// Returns a sentence for the person who wrote the job, chosen by the words of the server.
std::string remedy_for_pod(const ApiError& refusal);

}  // namespace sailor::kube
