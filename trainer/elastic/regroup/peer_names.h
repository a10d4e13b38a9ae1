// Replaces ranks and addresses in error messages of the communication libraries by names of pods.
#pragma once

#include <string>
#include <vector>

#include "core/protocol/assignment.h"

namespace sailor::trainer {

// Returns for example "worker 2 (pod opt-1, GPU 0)".
std::string name_of_worker(const Assignment& assignment, int rank);

std::vector<std::string> names_of_workers(const Assignment& assignment);  // indexed by rank

// Returns the message with every "rank N" and every "[IP]:port" of this generation replaced by a name.
std::string with_peer_names(const std::string& message, const Assignment& assignment);

}  // namespace sailor::trainer
