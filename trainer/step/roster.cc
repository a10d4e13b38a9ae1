#include "trainer/step/roster.h"

#include "trainer/model/pieces.h"

namespace sailor::trainer {
namespace {

template <class T>
T& grown(std::vector<T>& row, int index) {  // the element, after making the row long enough
  if (std::ssize(row) <= index) row.resize(static_cast<std::size_t>(index) + 1);
  return row[static_cast<std::size_t>(index)];
}

}  // namespace

Roster::Roster(const Assignment& assignment)
    : training_(assignment.training_workers()), all_(all_pieces(assignment.model)), pieces_(assignment.workers.size()) {
  for (int rank = 0; rank < std::ssize(assignment.workers); ++rank) {
    const auto& role = assignment.workers[static_cast<std::size_t>(rank)].role;
    if (!role) continue;
    grown(grown(grown(ranks_, role->stage), role->replica), role->shard) = rank;
    const Stage& stage = assignment.plan.stages[static_cast<std::size_t>(role->stage)];
    auto& pieces = pieces_[static_cast<std::size_t>(rank)];
    pieces = pieces_of_stage(assignment.model, stage.first_layer, stage.last_layer);
    for (const int piece : pieces) holders_[piece].push_back(rank);
  }
}

int Roster::rank_of(const Role& role) const {
  return ranks_.at(static_cast<std::size_t>(role.stage))
      .at(static_cast<std::size_t>(role.replica))
      .at(static_cast<std::size_t>(role.shard));
}

const std::vector<int>& Roster::pieces_of(int rank) const { return pieces_.at(static_cast<std::size_t>(rank)); }

const std::vector<int>& Roster::holders_of(int piece) const { return holders_.at(piece); }

int Roster::keeper_of(int piece) const {
  const auto& holders = holders_of(piece);
  return holders[static_cast<std::size_t>(piece) % holders.size()];
}

}  // namespace sailor::trainer
