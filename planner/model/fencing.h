// Fencing: when a generation may be begun though some workers of an older one cannot be asked to stop. Pure rules that
// the operator obeys and the exploration of the protocol checks (docs/elasticity.md, "Fencing").
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

namespace sailor {

// A generation whose roles are all in one pod votes with nobody outside it: cut off, it would train on. So it applies
// an update only while its lease holds, which its agent asks the operator for, and which counts from the asking.
inline constexpr std::chrono::seconds kLease{20};
inline constexpr std::chrono::seconds kLeaseRenewal{5};  // how often it is asked for

// How an agent that has a role in the older generation stands to the one that is to begin.
struct Standing {
  bool takes_part = false;      // in the one that is to begin
  bool is_dead = false;         // surely: its pod or node is gone, and does not merely give no answer
  std::int64_t generation = 0;  // the newest that it has reported to obey
};

// Whether the older generation can apply no update once the next one trains. One worker that has left it is enough, for
// its vote is missing; and the next generation trains only when all who take part have come.
inline bool is_fenced(std::int64_t generation, const std::vector<Standing>& with_a_role, bool lease_has_lapsed) {
  const auto has_left = [&](const Standing& agent) { return agent.takes_part || agent.generation > generation; };
  if (std::ranges::any_of(with_a_role, has_left)) return true;
  if (std::ranges::all_of(with_a_role, &Standing::is_dead)) return true;
  return with_a_role.size() == 1 && lease_has_lapsed;
}

// Whether the operator renews the lease: only of the newest generation that it has written down. From then on it waits
// for kLease before it relies on the lapse of an older one's.
inline bool renews_lease(std::int64_t asked_for, std::int64_t newest_written) { return asked_for == newest_written; }

}  // namespace sailor
