// JobReplay: plays one job over a timeline by the rules of one policy.
#pragma once

#include <optional>

#include "planner/replan/look_ahead.h"
#include "planner/replay/node_watch.h"
#include "planner/replay/plan_book.h"
#include "planner/replay/replay_report.h"
#include "planner/replay/timeline.h"

namespace sailor {

// How a job reacts to changes.
struct Reaction {
  ElasticityMode mode = ElasticityMode::kLive;
  PlanStyle style = PlanStyle::kAny;
  // Workers that lose a peer save their state if they hold all of it. Otherwise the job goes back to its last periodic
  // checkpoint, unless a notice leaves the time to save.
  bool survivors_save = true;
  LookAhead look_ahead = LookAhead::kOff;
};

// How long things take.
struct ReplayTimes {
  NodeTimes nodes;
  Seconds planning;
  Seconds restart;   // from the start of pods and processes until all workers have loaded the checkpoint
  Seconds lifetime;  // the time over which the pause of a change is spread
};

class JobReplay {
 public:
  // The arguments must outlive this object.
  JobReplay(const JobSpec& job, const Timeline& timeline, PlanBook& book, const ReplayTimes& times, Reaction reaction);

  // `fixed` is the plan that a job of mode kOff keeps.
  Result<ReplayReport> run(std::optional<int> fixed);

 private:
  // The parts of a pause, in the order in which they pass.
  struct Pause {
    Seconds planning{};
    Seconds saving{};
    Seconds starting{};
    Seconds moving{};
    [[nodiscard]] Seconds total() const { return planning + saving + starting + moving; }
  };
  struct Change {
    int plan = 0;
    Seconds pause;
  };
  // Steps that were computed for the first time, all by one plan.
  struct FirstRun {
    double steps = 0;
    Seconds iteration;
  };

  void look_ahead(const Moment& moment);
  Result<void> decide(const Moment& moment);
  Result<void> respond_to_loss(const Moment& moment);
  Result<void> restart(const Moment& moment, bool is_in_time);
  Result<void> start_if_possible(const Moment& moment, Seconds saving);
  Result<void> consider_change(const Moment& moment);
  Result<std::optional<Change>> choose(const Moment& moment);
  [[nodiscard]] Seconds time_to_save(const HeldState& before, const std::optional<Change>& next) const;
  [[nodiscard]] Change change_to(int plan) const;
  bool is_worth_it(const Change& change, const Moment& moment);
  bool pays_off(const Change& change, const Moment& moment);
  [[nodiscard]] double figure_of(int plan, const Moment& moment) const;
  [[nodiscard]] double value_of(const Change& change, const Moment& moment) const;
  [[nodiscard]] Seconds time_until_change(int plan) const;
  void adopt(int plan, const Moment& moment, const Pause& pause);
  bool save_state(bool is_in_time);
  void note_lost_nodes(const Moment& moment);
  void roll_back();
  void lose_down_to(double step);
  void discount_lost_steps();
  [[nodiscard]] double steps_between_checkpoints() const;

  [[nodiscard]] Seconds next_stop(Seconds next_moment) const;
  void advance(const Moment& moment, Seconds until);
  Seconds pass_pause(Seconds time);
  Seconds train(Seconds time);
  void pay(const Moment& moment, Seconds time);
  void open_period(const Moment& moment);

  const JobSpec& job_;
  const Timeline& timeline_;
  PlanBook& book_;
  const ReplayTimes& times_;
  Reaction reaction_;
  std::vector<int> clusters_;  // the book's numbers of the timeline's clusters
  std::vector<int> known_;     // the plans that were the best for some cluster so far
  std::optional<int> fixed_;
  std::optional<int> running_;        // a plan; empty: the job waits
  std::vector<int> nodes_;            // the nodes of the running plan, ascending
  HeldState next_held_;               // what the workers hold after the pause
  HeldState held_;                    // what they hold now
  Pause pause_;                       // what is left of it
  double checkpoint_ = 0;             // the step of the newest checkpoint
  double furthest_ = 0;               // the highest step ever reached
  std::vector<FirstRun> first_runs_;  // of all steps up to the furthest one, in order
  Seconds now_;
  Seconds decided_at_;
  bool may_improve_ = false;  // nodes have changed since the job last looked for a better plan
  bool has_started_ = false;
  NodeWatch watch_;
  bool is_ahead_ = false;                 // whether the job looks ahead now
  double share_forgone_ = 0;              // of the time, since the job last declined a change
  Seconds forgone_;                       // the sum of it since the last change of plan
  std::optional<Seconds> reconsider_at_;  // when the declined change will be worth its pause
  double lost_steps_ = 0;                 // since the last period was opened
  std::vector<std::string> lost_nodes_;   // since then
  ReplayReport report_;
};

}  // namespace sailor
