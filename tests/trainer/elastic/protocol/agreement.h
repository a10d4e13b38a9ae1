// What the workers of the explored world agree on at a meeting: the protocol's own functions on its packed holdings.
#pragma once

#include "tests/trainer/elastic/protocol/world.h"
#include "trainer/elastic/protocol/transfers.h"

namespace sailor::trainer::exploration {

inline constexpr Mask kAllSlices = (1U << kSlices) - 1;
inline constexpr std::int64_t kCheckpointStep = 0;

inline bool has(Mask mask, int bit) { return (mask >> bit & 1U) != 0; }
inline void put(Mask& mask, int bit) { mask = static_cast<Mask>(mask | 1U << bit); }
inline void remove(Mask& mask, int bit) { mask = static_cast<Mask>(mask & ~(1U << bit)); }

std::uint16_t packed(const Worker& worker);  // the holding that it publishes

// What follows from a complete meeting: the same on every worker.
struct Agreement {
  bool is_from_memory = false;
  ResumePoint point;
  std::vector<Holding> holdings;
  TransferPlan transfers;
};

const Agreement& agreement_of(const Meeting& meeting, int generation);

}  // namespace sailor::trainer::exploration
