// What the workers of the explored world agree on at a meeting: the protocol's own functions on its packed holdings.
#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/trainer/elastic/protocol/rules.h"
#include "tests/trainer/elastic/protocol/world.h"

namespace sailor::trainer::exploration {

std::uint16_t packed(const Worker& worker);  // the holding that it publishes

// What follows from a complete meeting: the same on every worker.
struct Agreement {
  std::optional<ResumePoint> point;  // none: from the newest checkpoint
  std::vector<Holding> holdings;
  TransferPlan transfers;
};

// The same meetings come up in very many worlds.
class Agreements {
 public:
  explicit Agreements(const Rules& rules) : rules_(rules) {}
  const Agreement& of(const Meeting& meeting);

  // Who sends what to newcomers of the next generation that follow the running one.
  const std::vector<UnitMove>& feeding(const Meeting& next, const Meeting& running);

 private:
  [[nodiscard]] Agreement work_out(const Meeting& meeting) const;

  const Rules& rules_;
  using Key = std::tuple<Mask, std::array<Mask, kWorkers>, std::array<std::uint16_t, kWorkers>>;
  std::map<Key, Agreement> known_;
  using Roles = std::array<Mask, kWorkers>;
  std::map<std::pair<Roles, Roles>, std::vector<UnitMove>> known_feeding_;
};

}  // namespace sailor::trainer::exploration
