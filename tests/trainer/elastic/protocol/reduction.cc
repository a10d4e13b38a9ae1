#include "tests/trainer/elastic/protocol/reduction.h"

#include <algorithm>
#include <bit>

namespace sailor::trainer::exploration {
namespace {

// How far a member has come in a generation.
enum class Stage : std::uint8_t {
  kAtRendezvous,  // is at the rendezvous, or may still come to it
  kTransfers,     // is moving state
  kConfirms,      // waits for the others' confirmations
  kTrains,
  kGone,  // does nothing in this generation any more
};

class Reducer {
 public:
  Reducer(World& world, int generation)
      : world_(world), generation_(generation), group_(world.rendezvous_of[static_cast<std::size_t>(generation)]) {}

  void run() {
    if (is_over()) group_ = {};
    if (group_.members == 0) return;
    for (int id = 0; id < kWorkers; ++id) {
      const auto stage = stage_of(id);
      if (!has(group_.members, id)) continue;
      if (stage == Stage::kGone) put(gone_, id);
      nearest_ = std::min(nearest_, stage);
    }
    forget_meeting();
    forget_confirmations();
    forget_steps();
    forget_streaming();
    if (disconnection_changes_nothing()) group_.is_disconnected = 0;
  }

 private:
  [[nodiscard]] const Worker& at(int id) const { return world_.workers[static_cast<std::size_t>(id)]; }
  [[nodiscard]] bool has_role(int id) const { return group_.roles[static_cast<std::size_t>(id)] != 0; }

  [[nodiscard]] Stage stage_of(int id) const {
    const Worker& worker = at(id);
    if (has(world_.crashed, id) || worker.generation > generation_) return Stage::kGone;
    if (worker.generation < generation_) return worker.next > generation_ ? Stage::kGone : Stage::kAtRendezvous;
    if (worker.place == WorkerPlace::kRendezvous) return Stage::kAtRendezvous;
    if (worker.place == WorkerPlace::kTransferring) return Stage::kTransfers;
    if (worker.place == WorkerPlace::kConfirming) return Stage::kConfirms;
    return is_training(worker.place) ? Stage::kTrains : Stage::kGone;
  }

  // True if all members have left the generation and the operator does not need it either.
  [[nodiscard]] bool is_over() const {
    if (generation_ >= world_.record || generation_ == world_.committed) return false;
    for (int id = 0; id < kWorkers; ++id) {
      const bool is_there = has(group_.members, id) && !has(world_.crashed, id);
      if (is_there && at(id).generation <= generation_) return false;
    }
    return true;
  }

  [[nodiscard]] bool is_hosted() const { return !has(world_.crashed, std::countr_zero(group_.members)); }

  // Holdings are read at the rendezvous and while state moves. A rendezvous never completes if a member left it without
  // publishing its state report.
  void forget_meeting() {
    const bool is_hopeless = (gone_ & ~group_.published) != 0 || !is_hosted();
    const bool somebody_moves = has_stage(Stage::kTransfers);
    if (nearest_ > Stage::kTransfers || (is_hopeless && !somebody_moves)) {
      group_.state_reports = {};
      group_.published = 0;
    }
    if (nearest_ > Stage::kTransfers) group_.met = group_.saved = group_.chosen_checkpoint = 0;
  }

  // No worker confirms once a member is gone that has not completed its transfers.
  void forget_confirmations() {
    const bool is_hopeless = (gone_ & ~group_.moved) != 0 || !is_hosted();
    const bool may_save = group_.roles == Rendezvous{}.roles && nearest_ <= Stage::kTransfers;
    if (nearest_ > Stage::kConfirms || (is_hopeless && !may_save)) group_.moved = 0;
  }

  // Keeps only steps that a worker still waits for. Drops them all if a member is gone that did not reach the step.
  void forget_steps() {
    int computed = kLastStep + 1, voted = kLastStep + 1;  // the first step that a worker may wait for
    for (int id = 0; id < kWorkers; ++id) {
      if (!has_role(id) || has(gone_, id)) continue;
      const bool trains = stage_of(id) == Stage::kTrains;
      const int next = trains ? at(id).step + 1 : 1;
      computed = std::min(computed, trains && at(id).place != WorkerPlace::kComputing ? next + 1 : next);
      voted = std::min(voted, next);
    }
    forget_before(computed, group_.computing);
    const bool may_vote = forget_before(voted, group_.voting);
    if (!may_vote || group_.leaving < voted) group_.leaving = 0;
    if (!may_vote || group_.waiting < voted) group_.waiting = 0;
    if (group_.leaving <= group_.waiting) group_.leaving = 0;  // no worker leaves at a step at which a worker waits
    if (!may_vote) group_.has_finished_late = 0;
  }

  // Returns whether all can reach this step.
  bool forget_before(int step, std::array<std::uint8_t, kWorkers>& reached) const {
    bool is_possible = step <= kLastStep;
    for (int id = 0; id < kWorkers; ++id) {
      is_possible = is_possible && !(has_role(id) && has(gone_, id) && reached[static_cast<std::size_t>(id)] < step);
    }
    for (std::uint8_t& at : reached) {
      if (!is_possible || at < step) at = 0;
    }
    return is_possible;
  }

  // Only workers that still receive state, or are about to come, read the sent units.
  void forget_streaming() {
    bool somebody_streams = false;
    for (int id = 0; id < kWorkers; ++id) {
      const bool is_streaming = at(id).generation == generation_ && at(id).is_streaming != 0;
      const bool may_come = at(id).generation < generation_ && at(id).updated_by != 0 && stage_of(id) != Stage::kGone;
      if (!is_streaming && !may_come) group_.streamed[static_cast<std::size_t>(id)] = 0;
      somebody_streams = somebody_streams || group_.streamed[static_cast<std::size_t>(id)] != 0;
    }
    if (!somebody_streams) group_.streamed_step = group_.streamed_by = group_.streamed_updated_by = group_.is_final = 0;
  }

  // A broken connection has no effect if every member has already lost a peer for good.
  [[nodiscard]] bool disconnection_changes_nothing() const {
    for (int id = 0; id < kWorkers; ++id) {
      if (!has(group_.members, id) || stage_of(id) == Stage::kGone) continue;
      if (!has_lost_a_peer(id)) return false;
    }
    return true;
  }

  [[nodiscard]] bool has_lost_a_peer(int id) const {
    for (int peer = 0; peer < kWorkers; ++peer) {
      const bool is_peer = peer != id && has(group_.members, peer) && (has_role(peer) || !has_role(id));
      const bool has_left = at(peer).generation > generation_ ||
                            (at(peer).generation == generation_ && at(peer).place == WorkerPlace::kBroken);
      if (is_peer && (has(world_.crashed, peer) || has_left)) return true;
    }
    return false;
  }

  [[nodiscard]] bool has_stage(Stage stage) const {
    for (int id = 0; id < kWorkers; ++id) {
      if (has(group_.members, id) && stage_of(id) == stage) return true;
    }
    return false;
  }

  World& world_;
  int generation_;
  Rendezvous& group_;
  Mask gone_ = 0;                 // members that are gone
  Stage nearest_ = Stage::kGone;  // the stage of the member with the least progress
};

}  // namespace

void reduce(World& world) {
  for (int generation = 1; generation <= world.issued; ++generation) Reducer(world, generation).run();
}

}  // namespace sailor::trainer::exploration
