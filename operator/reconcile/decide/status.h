// The job's status: what users and their scripts read. Written only when it says something new.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "operator/model/conditions.h"
#include "operator/reconcile/decide/decision.h"

namespace sailor {

// Puts the status into the decision if it differs from the one that the job has, with the events that tell the
// difference.
void finish_status(const Observation& seen, const std::optional<GenerationRecord>& record, const Conditions& conditions,
                   Decision& decision);

// One word from the conditions, for people.
std::string state_word(const Conditions& conditions);

// What a status that was written says: whether a condition is true, and whether the job is complete or has failed.
bool is_true(const kube::Json& status, std::string_view condition);
bool has_ended(const kube::Json& status);

}  // namespace sailor
