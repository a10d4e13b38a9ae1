#include "trainer/elastic/state/copies.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "trainer/elastic/state/sites.h"

namespace sailor::trainer {
namespace {

bool is_on_one_node(const std::vector<int>& ranks, const std::vector<Site>& sites) {
  const auto node_of = [&](int rank) { return sites[static_cast<std::size_t>(rank)].node; };
  return std::ranges::all_of(ranks, [&](int rank) { return node_of(rank) == node_of(ranks.front()); });
}

// Slices without a second node, the largest first; nobody keeps them yet.
std::vector<StateCopy> endangered(const ModelSpec& model, const Roster& roster, const std::vector<Site>& sites) {
  std::vector<StateCopy> found;
  for (const int piece : roster.pieces()) {
    const Piece whole = piece_of(model, piece);
    const std::vector<int>& ranks = roster.holders_of(piece);
    std::vector<Piece> parts;
    parts.reserve(ranks.size());
    for (const int rank : ranks) parts.push_back(roster.held_part(rank, piece));
    for (Parcel& parcel : parcels_of(whole, parts)) {
      std::vector<int> holders;
      for (const int index : parcel.holders) holders.push_back(ranks[static_cast<std::size_t>(index)]);
      if (holders.empty() || !is_on_one_node(holders, sites)) continue;
      const std::int64_t elements = size_of(whole, parcel);
      found.push_back({piece, std::move(parcel.ranges), elements, holders.front(), 0});
    }
  }
  std::ranges::stable_sort(found, std::greater(), &StateCopy::elements);
  return found;
}

// The best of other nodes for a copy: nearest of those that the loss of a zone does not take too.
int preference(const Site& holder, const Site& keeper) {
  constexpr int kZone = 1, kRegion = 2;
  const int apart = distance(holder, keeper);
  return apart == kRegion ? 0 : apart == kZone ? 1 : 2;
}

}  // namespace

std::vector<StateCopy> plan_copies(const Assignment& assignment, const Roster& roster) {
  if (assignment.redundancy == Redundancy::kNone) return {};
  const std::vector<Site> sites = sites_of(assignment);
  std::vector<StateCopy> copies = endangered(assignment.model, roster, sites);
  std::int64_t total = 0;
  for (const StateCopy& copy : copies) total += copy.elements;
  std::vector<std::int64_t> kept(static_cast<std::size_t>(roster.training_workers()));
  std::erase_if(copies, [&](StateCopy& copy) {
    const Site& holder = sites[static_cast<std::size_t>(copy.holder)];
    std::vector<int> others;
    for (int rank = 0; rank < roster.training_workers(); ++rank) {
      if (sites[static_cast<std::size_t>(rank)].node != holder.node) others.push_back(rank);
    }
    if (others.empty()) return true;
    copy.keeper = *std::ranges::min_element(others, {}, [&](int rank) {
      const auto index = static_cast<std::size_t>(rank);
      const bool has_its_share = kept[index] * roster.training_workers() >= total;
      const int wish = has_its_share ? 0 : preference(holder, sites[index]);
      return std::tuple(has_its_share, wish, kept[index], rank);
    });
    kept[static_cast<std::size_t>(copy.keeper)] += copy.elements;
    return false;
  });
  return copies;
}

HeldSlices slices_of(const Roster& roster, const std::vector<StateCopy>& copies, int rank) {
  HeldSlices slices;
  for (const int piece : roster.pieces_of(rank)) slices.own[piece] = ranges_of(roster.held_part(rank, piece));
  for (const StateCopy& copy : copies) {
    if (copy.keeper == rank) std::ranges::copy(copy.ranges, std::back_inserter(slices.copies[copy.piece]));
  }
  for (auto& [piece, ranges] : slices.copies) std::ranges::sort(ranges);
  return slices;
}

}  // namespace sailor::trainer
