#include "tests/trainer/elastic/protocol/transition.h"

#include <array>

#include <fmt/format.h>

namespace sailor::trainer::exploration {
namespace {

constexpr std::array kWords = {
    "hears of generation {}",
    "is prepared for generation {}",
    "comes to generation {}, and follows the training until then",
    "follows no longer, and says what it holds in generation {}",
    "has met the others of generation {}",
    "saves its share, in generation {}",
    "has what it needs in generation {}",
    "hears that all of generation {} have what they need",
    "has complete gradients in generation {}",
    "has complete gradients in generation {}, and waits for followers",
    "hears that all have voted in generation {}, and applies the step",
    "loses a peer of generation {}",
    "has no lease, and pauses generation {}",
    "has its lease again, and goes on with generation {}",
    "gains or loses its lease of generation {}",
    "is heard by the operator again, in generation {}",
    "is deleted, for the job goes on without it, in generation {}",
    "writes generation {} down, for a change of the plan",
    "writes generation {} down, for a loss",
    "writes generation {} down, to park the job",
    "writes generation {} down, to start the parked job again",
    "withdraws generation {}",
    "seals generation {}",
    "CRASHES in generation {}",
    "is CUT OFF from the operator, or FREEZES, in generation {}",
    "loses a CONNECTION of generation {}",
    "CANNOT SAVE its share in generation {}",
    "loses its PATH to another worker, in generation {}",
};
static_assert(kWords.size() == static_cast<std::size_t>(What::kLosesPath) + 1);

}  // namespace

std::string describe(const Happening& happening) {
  const std::string who = happening.who < 0 ? "the operator" : fmt::format("worker {}", happening.who);
  return who + " " +
         fmt::format(fmt::runtime(kWords.at(static_cast<std::size_t>(happening.what))), happening.generation);
}

}  // namespace sailor::trainer::exploration
