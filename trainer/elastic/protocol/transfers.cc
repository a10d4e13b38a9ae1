#include "trainer/elastic/protocol/transfers.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace sailor::trainer {
namespace {

struct Want {
  std::int64_t bytes = 0;
  int unit = 0;
  int rank = 0;
};

std::vector<Want> wants_of(const TransferQuestion& question) {
  std::vector<Want> wants;
  for (int rank = 0; rank < std::ssize(question.wanted); ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    for (const int unit : question.wanted[index]) {
      if (std::ranges::binary_search(question.offered[index], unit)) continue;
      wants.push_back({question.bytes[static_cast<std::size_t>(unit)], unit, rank});
    }
  }
  std::ranges::sort(wants, {}, [](const Want& want) { return std::tuple(-want.bytes, want.unit, want.rank); });
  return wants;
}

std::map<int, std::vector<int>> holders_by_unit(const TransferQuestion& question) {
  std::map<int, std::vector<int>> holders;
  for (int rank = 0; rank < std::ssize(question.offered); ++rank) {
    for (const int unit : question.offered[static_cast<std::size_t>(rank)]) holders[unit].push_back(rank);
  }
  return holders;
}

const WorkerLocation& location(const TransferQuestion& question, int rank) {
  return question.locations[static_cast<std::size_t>(rank)];
}

}  // namespace

int distance(const WorkerLocation& a, const WorkerLocation& b) {
  if (a.node == b.node) return 0;
  if (a.zone == b.zone) return 1;
  return region_of(a.zone) == region_of(b.zone) ? 2 : 3;
}

TransferPlan plan_transfers(const TransferQuestion& question) {
  const auto holders = holders_by_unit(question);
  std::vector<std::int64_t> sent(question.offered.size());
  TransferPlan plan{.moves = {}, .unheld = std::vector<std::vector<int>>(question.wanted.size())};
  for (const Want& want : wants_of(question)) {
    const auto found = holders.find(want.unit);
    if (found == holders.end()) {
      plan.unheld[static_cast<std::size_t>(want.rank)].push_back(want.unit);
      continue;
    }
    const int from = *std::ranges::min_element(found->second, {}, [&](int holder) {
      return std::tuple(distance(location(question, holder), location(question, want.rank)),
                        sent[static_cast<std::size_t>(holder)], holder);
    });
    sent[static_cast<std::size_t>(from)] += want.bytes;
    plan.moves.push_back({want.unit, from, want.rank});
  }
  for (auto& units : plan.unheld) std::ranges::sort(units);
  return plan;
}

}  // namespace sailor::trainer
