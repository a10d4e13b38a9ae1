#include "trainer/elastic/regroup.h"

#include <algorithm>
#include <numeric>

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "trainer/comm/peer_lost.h"
#include "trainer/elastic/restore.h"
#include "trainer/step/cannot_train.h"

namespace sailor::trainer {
namespace {

constexpr std::chrono::milliseconds kLook{200};  // how often a wait looks whether a newer generation is known

std::string name_of_worker(const Assignment& assignment, int rank) {
  const WorkerSlot& slot = assignment.workers.at(static_cast<std::size_t>(rank));
  return fmt::format("worker {} (pod {}, GPU {})", rank,
                     assignment.agents.at(static_cast<std::size_t>(slot.agent)).name, slot.gpu);
}

std::vector<std::string> names_of_workers(const Assignment& assignment) {
  std::vector<std::string> names;
  for (int rank = 0; rank < std::ssize(assignment.workers); ++rank) names.push_back(name_of_worker(assignment, rank));
  return names;
}

std::unique_ptr<Rendezvous> meet(const Assignment& assignment, const Patience& patience) {
  const AgentAddress& host = assignment.agents.at(static_cast<std::size_t>(assignment.rendezvous));
  return std::make_unique<Rendezvous>(host.host, host.store_port,
                                      fmt::format("{}/{}", assignment.job_uid, assignment.generation), patience.peer);
}

// Everybody's holding, by rank; nothing if a newer generation is known before all have come.
std::optional<std::vector<Holding>> exchange(const Assignment& assignment, int rank, const Holding& mine,
                                             const Patience& patience, const Inbox& inbox, Rendezvous& rendezvous) {
  rendezvous.set(fmt::format("holding/{}", rank), to_line(mine));
  const auto deadline = std::chrono::steady_clock::now() + patience.join;
  std::vector<Holding> holdings;
  while (holdings.size() < assignment.workers.size()) {
    const int next = static_cast<int>(holdings.size());
    if (inbox.has_newer_than(assignment.generation)) return std::nullopt;
    if (const auto line = rendezvous.wait(fmt::format("holding/{}", next), kLook)) {
      auto holding = holding_from_line(*line);
      if (!holding) throw CannotTrain(holding.error().message);
      holdings.push_back(*std::move(holding));
    } else if (std::chrono::steady_clock::now() > deadline) {
      throw PeerLost(fmt::format("generation {}: {} did not come within {} s", assignment.generation,
                                 name_of_worker(assignment, next), patience.join.count() / 1000));
    }
  }
  return holdings;
}

std::vector<at::Tensor> tensors_of(const PieceState& state) { return {state.weights, state.momentum, state.variance}; }

// Sends and receives at once; every tensor of a move has a tag of its own.
void carry_out(const std::vector<Move>& list, int rank, const ModelSpec& model, Group& group, PieceStates& pieces) {
  std::vector<std::unique_ptr<Transfer>> transfers;
  PieceStates received;
  int tag = 0;
  for (const Move& move : list) {
    if (move.to == rank) received[move.piece] = empty_state(piece_of(model, move.piece));
    const bool is_mine = move.to == rank || move.from == rank;
    const auto tensors = is_mine ? tensors_of(move.to == rank ? received.at(move.piece) : pieces.at(move.piece))
                                 : std::vector<at::Tensor>(3);
    for (const at::Tensor& tensor : tensors) {
      if (move.to == rank) transfers.push_back(group.receive(tensor, move.from, tag));
      if (move.from == rank) transfers.push_back(group.send(tensor, move.to, tag));
      ++tag;
    }
  }
  for (const auto& transfer : transfers) transfer->wait();
  pieces.merge(received);
}

// Brings the state to the common step, from memory or, if a piece is held by nobody, from the newest checkpoint.
std::int64_t settle(const Assignment& assignment, const Roster& roster, int rank, const std::vector<Holding>& holdings,
                    Group& everyone, Rendezvous& rendezvous, HeldState& held) {
  const auto point = resume_point(roster, holdings);
  if (!point) {
    restore(assignment, roster, rank, everyone, rendezvous, held);
    return steps_lost(holdings, held.step);
  }
  if (can_offer(held.holding(), *point)) {
    if (held.step < point->step) held.apply_gradients(assignment.training, point->squared_norm);
  } else {
    held.pieces.clear();  // of another step, or none
  }
  carry_out(moves(assignment, roster, holdings, *point), rank, assignment.model, everyone, held.pieces);
  held.step = point->step;
  held.squared_norm = point->squared_norm;
  held.gradients.clear();
  return steps_lost(holdings, held.step);
}

void learn_from(const std::vector<Holding>& holdings, HeldState& held) {
  for (const Holding& holding : holdings) {
    if (holding.first_loss != 0) held.first_loss = holding.first_loss;
  }
}

void keep_only(const std::vector<int>& wanted, PieceStates& pieces) {
  std::erase_if(pieces, [&](const auto& entry) { return !std::ranges::binary_search(wanted, entry.first); });
}

std::vector<int> ranks_below(int count) {
  std::vector<int> ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

}  // namespace

std::optional<Membership> regroup(const Assignment& assignment, const Self& self, const Patience& patience,
                                  const Inbox& inbox, HeldState& held) {
  const Roster roster(assignment);
  Membership membership{
      .rank = self.rank, .rendezvous = meet(assignment, patience), .everyone = nullptr, .groups = nullptr};
  const auto holdings = exchange(assignment, self.rank, held.holding(), patience, inbox, *membership.rendezvous);
  if (!holdings) return std::nullopt;
  learn_from(*holdings, held);

  GroupFactory factory(*membership.rendezvous, self.host, self.rank, patience.peer, names_of_workers(assignment));
  membership.everyone = factory.make("everyone", ranks_below(roster.workers()));
  membership.steps_lost =
      settle(assignment, roster, self.rank, *holdings, *membership.everyone, *membership.rendezvous, held);
  if (self.rank < roster.training_workers()) membership.groups = std::make_unique<Groups>(roster, self.rank, factory);

  // Nobody forgets what it handed over before all have what they need: until then this generation may still fail.
  membership.everyone->sum(at::zeros({1}));
  keep_only(roster.pieces_of(self.rank), held.pieces);
  held.reached = held.step;
  return membership;
}

}  // namespace sailor::trainer
