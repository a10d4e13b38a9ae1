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
void finish_status(const Observation& observation, const std::optional<GenerationRecord>& record,
                   const Conditions& conditions, Decision& decision);

// One word from the conditions, for people.
std::string state_word(const Conditions& conditions);

}  // namespace sailor
