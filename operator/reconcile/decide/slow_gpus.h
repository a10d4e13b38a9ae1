// The slow GPUs in the record of a job: when a GPU is entered or has recovered, and what that means for the nodes that
// the job may use. stragglers.h decides whether the job changes its plan because of them.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "operator/reconcile/decide/placement.h"
#include "operator/reconcile/decide/policy.h"

namespace sailor {

// A GPU that gets slow again soon after it has recovered counts as slow for at least this long, the next time for twice
// as long, and so on up to the limit.
inline constexpr std::chrono::seconds kFirstDistrust{30};
inline constexpr std::chrono::seconds kLongestDistrust{3600};

// A pod without a role stays for this long after its GPU got slow, so that its worker is probed.
inline constexpr std::chrono::seconds kProbedFor{3600};

// Applies if the measured speeds differ from the slow GPUs in the record. Writes the record.
std::optional<PolicyResult> note_slow_gpus(const Observation& observation);

// Returns the slow ones among the first `gpus` GPUs of the node.
std::vector<GpuOfGrade> slow_gpus_of(const Observation& observation, const NodeView& node, int gpus);

// Returns whether a pod stays although the generation has no role for it: it trains no more because its GPU is slow,
// and its worker's probes tell when the GPU has recovered.
bool is_probed(const Observation& observation, const GenerationRecord& record, const PodView& pod);

// "GPU 0 of node a takes 4.0 times as long as usual, ..."; empty: no GPU is slow.
std::string slow_gpus_text(const Observation& observation, const GenerationRecord& record);

// "GPU 0 of node a is as fast as usual again, ..."; empty: no GPU has recovered after `then`, except for those that the
// plan uses as usual anyway.
std::string recovered_gpus_text(const Observation& observation, Time then);

}  // namespace sailor
