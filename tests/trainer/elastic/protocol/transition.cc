#include "tests/trainer/elastic/protocol/transition.h"

#include <array>

#include <fmt/format.h>

namespace sailor::trainer::exploration {
namespace {

constexpr std::array kWords = {
    "receives the assignment of generation {}",
    "is prepared for generation {}",
    "joins the rendezvous of generation {}, and receives streamed state",
    "receives no more state, and publishes its state report in generation {}",
    "has completed the rendezvous of generation {}",
    "saves its shards, in generation {}",
    "has its state in generation {}",
    "knows that all workers of generation {} have their state",
    "has complete gradients in generation {}",
    "has complete gradients in generation {}, and waits for joining workers",
    "has received all votes of generation {}, and applies the update",
    "drops the step that it computes in generation {}",
    "loses a peer of generation {}",
    "has no lease, and pauses generation {}",
    "has its lease again, and resumes generation {}",
    "gains or loses its lease of generation {}",
    "answers the operator again, in generation {}",
    "is deleted, because the job continues without it, in generation {}",
    "records generation {} for a planned change",
    "records generation {} because of a loss",
    "records generation {} to save the job and release its GPUs",
    "records generation {} to restart the released job",
    "withdraws generation {}",
    "has the checkpoint folder claimed for generation {}",
    "commits the membership of generation {}",
    "CRASHES in generation {}",
    "is PARTITIONED from the operator, or FREEZES, in generation {}",
    "loses a CONNECTION of generation {}",
    "CANNOT SAVE its shards in generation {}",
    "loses its PATH to another worker, in generation {}",
};
static_assert(kWords.size() == static_cast<std::size_t>(TransitionKind::kLosesPath) + 1);

}  // namespace

std::string describe(const Transition& transition) {
  const std::string who = transition.worker < 0 ? "the operator" : fmt::format("worker {}", transition.worker);
  return who + " " +
         fmt::format(fmt::runtime(kWords.at(static_cast<std::size_t>(transition.kind))), transition.generation);
}

}  // namespace sailor::trainer::exploration
