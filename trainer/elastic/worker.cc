#include "trainer/elastic/worker.h"

#include <algorithm>

#include <fmt/format.h>

#include "trainer/comm/peer_lost.h"
#include "trainer/elastic/generation.h"
#include "trainer/elastic/supported.h"
#include "trainer/log.h"
#include "trainer/step/cannot_train.h"

namespace sailor::trainer {
namespace {

class Worker {
 public:
  Worker(const WorkerSettings& settings, Inbox& inbox, Reporter& reporter)
      : settings_(settings), inbox_(inbox), reporter_(reporter) {}

  void run() {
    say(WorkerPhase::kIdle);
    while (!is_over_) {
      const auto assignment = inbox_.wait_for_newer_than(generation_);
      if (!assignment) return;
      generation_ = assignment->generation;
      try {
        obey(*assignment);
      } catch (const PeerLost& error) {
        membership_.reset();  // at once: closed connections are how the others learn of it
        log_warning("peer lost", {{"generation", std::to_string(generation_)}, {"why", error.what()}});
        say(WorkerPhase::kBroken, error.what());
      } catch (const std::exception& error) {  // the job's fault, or ours: no other generation would help
        log_error("cannot go on", {{"generation", std::to_string(generation_)}, {"why", error.what()}});
        say(WorkerPhase::kFailed, error.what());
        is_over_ = true;
      }
    }
  }

 private:
  void obey(const Assignment& assignment) {
    say(WorkerPhase::kPreparing);
    const auto slot = slot_in(assignment);
    if (!slot) return release();  // this generation does without us, and without our state
    const int rank = static_cast<int>(*slot);
    const bool has_role = assignment.workers[*slot].role.has_value();
    if (auto supported = check_supported(assignment); !supported) throw CannotTrain(supported.error().message);
    std::unique_ptr<Batches> batches;
    if (has_role) batches = open_data(assignment);
    auto membership = regroup(assignment, {rank, settings_.host}, settings_.patience, inbox_, held_);
    if (!membership) return;
    // Only now are the connections of the generation before closed: all have come here, so none is in its last vote.
    membership_ = std::move(membership);
    log_info("generation begins", {{"generation", std::to_string(generation_)},
                                   {"rank", std::to_string(rank)},
                                   {"step", std::to_string(held_.step)},
                                   {"steps_lost", std::to_string(membership_->steps_lost)}});
    if (!has_role) return release();
    train(assignment, *membership_, *batches);
  }

  void train(const Assignment& assignment, Membership& membership, const Batches& batches) {
    Generation generation(assignment, membership, batches, inbox_, writer_, held_);
    const auto tell = [&](WorkerPhase phase) {
      say(phase, writer_.trouble(), membership.rank == 0 ? std::optional(generation.progress()) : std::nullopt);
    };
    tell(WorkerPhase::kTraining);
    const GenerationEnd end = generation.train([&] {
      tell(WorkerPhase::kTraining);
      if (membership.rank == 0) log_step(generation.progress());
    });
    is_over_ = end == GenerationEnd::kAllStepsDone;
    tell(is_over_ ? WorkerPhase::kFinished : WorkerPhase::kPreparing);
  }

  void release() {
    held_ = {};
    say(WorkerPhase::kReleased);
  }

  [[nodiscard]] std::optional<std::size_t> slot_in(const Assignment& assignment) const {
    const auto is_mine = [&](const WorkerSlot& slot) {
      return slot.gpu == settings_.gpu &&
             assignment.agents.at(static_cast<std::size_t>(slot.agent)).name == settings_.agent;
    };
    const auto found = std::ranges::find_if(assignment.workers, is_mine);
    if (found == assignment.workers.end()) return std::nullopt;
    return static_cast<std::size_t>(found - assignment.workers.begin());
  }

  static std::unique_ptr<Batches> open_data(const Assignment& assignment) {
    auto batches = Batches::open(assignment.data, assignment.training, assignment.model.vocab_size);
    if (!batches) throw CannotTrain(batches.error().message);
    return *std::move(batches);
  }

  static void log_step(const JobProgress& progress) {
    log_info("step", {{"generation", std::to_string(progress.generation)},
                      {"step", std::to_string(progress.step)},
                      {"loss", fmt::format("{:.9g}", progress.loss)},
                      {"tokens_per_second", fmt::format("{:.1f}", progress.tokens_per_second)}});
  }

  void say(WorkerPhase phase, const std::string& message = "", const std::optional<JobProgress>& progress = {}) {
    reporter_.report(
        {.gpu = settings_.gpu, .phase = phase, .generation = generation_, .step = held_.step, .message = message},
        progress);
  }

  const WorkerSettings& settings_;
  Inbox& inbox_;
  Reporter& reporter_;
  HeldState held_;
  std::optional<Membership> membership_;  // in the newest generation that came together
  CheckpointWriter writer_;
  std::int64_t generation_ = 0;
  bool is_over_ = false;
};

}  // namespace

void run_worker(const WorkerSettings& settings, Inbox& inbox, Reporter& reporter) {
  Worker(settings, inbox, reporter).run();
}

}  // namespace sailor::trainer
