#include "trainer/step/groups.h"

#include <numeric>

#include <fmt/format.h>

namespace sailor::trainer {

// All workers make the groups in ascending order of pieces, so that none waits for another in a circle.
Groups::Groups(const Roster& roster, int rank, GroupFactory& factory) {
  std::vector<int> everyone(static_cast<std::size_t>(roster.training_workers()));
  std::iota(everyone.begin(), everyone.end(), 0);
  control_ = factory.make("control", everyone);
  pipeline_ = factory.make("pipeline", everyone);
  for (const int piece : roster.pieces_of(rank)) {
    auto& group = by_ranks_[roster.holders_of(piece)];
    if (!group) group = factory.make(fmt::format("piece-{}", piece), roster.holders_of(piece));
    by_piece_[piece] = group.get();
  }
}

Group& Groups::holders_of(int piece) { return *by_piece_.at(piece); }

}  // namespace sailor::trainer
