// What the workers of the explored world agree on at a rendezvous, computed by the protocol's own functions.
#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/trainer/elastic/protocol/rules.h"
#include "tests/trainer/elastic/protocol/world.h"

namespace sailor::trainer::exploration {

std::uint16_t packed(const Worker& worker);  // the state report that the worker publishes

// The result of a complete rendezvous. It is the same on every worker.
struct Agreement {
  std::optional<ResumePoint> point;  // absent: all resume from the newest checkpoint
  std::vector<StateReport> state_reports;
  TransferPlan transfers;
};

// Caches agreements, because very many states have the same rendezvous.
class Agreements {
 public:
  explicit Agreements(const Rules& rules) : rules_(rules) {}
  const Agreement& of(const Rendezvous& rendezvous);

  // The units that workers of the running generation send to those of the next one while they train.
  const std::vector<UnitMove>& streams(const Rendezvous& next, const Rendezvous& running);

 private:
  [[nodiscard]] Agreement work_out(const Rendezvous& rendezvous) const;

  const Rules& rules_;
  using Key = std::tuple<Mask, std::array<Mask, kWorkers>, std::array<std::uint16_t, kWorkers>>;
  std::map<Key, Agreement> known_;
  using Roles = std::array<Mask, kWorkers>;
  std::map<std::pair<Roles, Roles>, std::vector<UnitMove>> known_streams_;
};

}  // namespace sailor::trainer::exploration
