#include "planner/replay/job_replay.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/model/checkpoint_interval.h"
#include "core/model/sort_unique.h"
#include "planner/replan/migration_cost.h"

namespace sailor {
namespace {

constexpr Seconds kRounding{1e-9};

std::vector<NodeRoom> rooms_of(const Moment& moment, const Timeline& timeline, const std::vector<int>& in_use) {
  const ClusterState& cluster = timeline.clusters[static_cast<std::size_t>(moment.cluster)];
  std::vector<NodeRoom> rooms;
  for (const int index : moment.nodes) {
    const NodeLifetime& node = timeline.nodes[static_cast<std::size_t>(index)];
    const bool is_used = std::ranges::binary_search(in_use, index);
    const PoolKey& pool = cluster.pools[static_cast<std::size_t>(node.pool)].key;
    rooms.push_back({pool, node.gpus, is_used ? 0 : 1, static_cast<std::size_t>(index)});
  }
  return rooms;
}

}  // namespace

JobReplay::JobReplay(const JobSpec& job, const Timeline& timeline, PlanBook& book, const ReplayTimes& times,
                     Reaction reaction)
    : job_(job),
      timeline_(timeline),
      book_(book),
      times_(times),
      reaction_(reaction),
      watch_(book.whole(), timeline.nodes) {
  for (const ClusterState& cluster : timeline.clusters) clusters_.push_back(book.number_of(cluster));
}

Result<ReplayReport> JobReplay::run(std::optional<int> fixed) {
  fixed_ = fixed;
  const auto& moments = timeline_.moments;
  for (std::size_t i = 0; i < moments.size() && !report_.is_done; ++i) {
    const Seconds next = i + 1 < moments.size() ? moments[i + 1].at : timeline_.end;
    may_improve_ = may_improve_ || i == 0 || moments[i].cluster != moments[i - 1].cluster;
    while (now_ < next && !report_.is_done) {
      look_ahead(moments[i]);
      if (auto done = decide(moments[i]); !done) return tl::unexpected(std::move(done.error()));
      advance(moments[i], next_stop(next));
    }
  }
  report_.end = now_;
  discount_lost_steps();
  if (!has_started_) report_.planned_at = now_;
  return std::move(report_);
}

void JobReplay::look_ahead(const Moment& moment) {
  watch_.observe(moment.nodes, now_);
  is_ahead_ = looks_ahead(reaction_.look_ahead, watch_.drops());
  if (!reconsider_at_ || now_ < *reconsider_at_) return;
  may_improve_ = true;
  reconsider_at_.reset();
}

// Any node that the job uses may have left, so the order matters: a job that lost GPUs must change before it may look
// for something better.
Result<void> JobReplay::decide(const Moment& moment) {
  if (running_ && !std::ranges::includes(moment.nodes, nodes_)) return respond_to_loss(moment);
  const bool is_paused = pause_.total() > Seconds(0);
  if (!running_ || is_paused) {  // nodes that the job does not use may have been the last to hold a part of the state
    held_.keep_only(moment.nodes);
    if (!held_.is_complete()) roll_back();
  }
  if (!running_) return start_if_possible(moment, Seconds(0));
  const bool is_cool = now_ >= decided_at_ + Seconds(std::chrono::duration<double>(kCoolDown).count());
  if (may_improve_ && is_cool && !is_paused) return consider_change(moment);
  return {};
}

// The pause counts only the state on the nodes that stay. If the notice is long enough, the others first send what only
// they hold, and nothing is lost.
Result<void> JobReplay::respond_to_loss(const Moment& moment) {
  note_lost_nodes(moment);
  const HeldState before = held_;
  held_.keep_only(moment.nodes);
  auto next = choose(moment);
  if (!next) return tl::unexpected(std::move(next.error()));
  const bool releases = releases_gpus_after_loss(reaction_.mode, next->has_value());
  const bool is_in_time = time_to_save(before, releases ? std::nullopt : *next) <= times_.nodes.notice;
  watch_.add_drop_of_plan(now_, is_in_time);
  if (is_in_time) held_ = before;
  if (!is_in_time) lose_down_to(std::floor(report_.steps));
  if (releases) return restart(moment, is_in_time);
  if (!held_.is_complete()) roll_back();
  adopt(next->value().plan, moment, {.planning = times_.planning, .moving = next->value().pause});
  if (is_in_time && running_) held_ = next_held_;  // what only the others held arrives before they leave
  return {};
}

// How long the nodes that leave are needed, so that no completed step is lost. Empty: the job saves a checkpoint.
// Shards of an optimizer are lost without a whole layer being lost; they are assumed to move last.
Seconds JobReplay::time_to_save(const HeldState& before, const std::optional<Change>& next) const {
  if (!next) return kAssumedCheckpointWriting;
  if (held_.is_complete()) return times_.planning + kRegroup;
  const Seconds sending = book_.time_to_hand_over(before, held_, next->plan);
  return times_.planning + (sending > Seconds(0) ? kRegroup + sending : next->pause);
}

Result<void> JobReplay::restart(const Moment& moment, bool is_in_time) {
  const bool has_written = save_state(is_in_time);
  running_.reset();
  nodes_.clear();
  pause_ = {};
  return start_if_possible(moment, has_written && !is_in_time ? kAssumedCheckpointWriting : Seconds(0));
}

Result<void> JobReplay::start_if_possible(const Moment& moment, Seconds saving) {
  auto next = choose(moment);
  if (!next) return tl::unexpected(std::move(next.error()));
  if (!*next) return {};
  adopt(next->value().plan, moment, {.planning = times_.planning, .saving = saving, .starting = times_.restart});
  return {};
}

Result<void> JobReplay::consider_change(const Moment& moment) {
  may_improve_ = false;
  share_forgone_ = 0;
  reconsider_at_.reset();
  if (!may_change_by_choice(reaction_.mode, job_.checkpoint)) return {};
  auto next = choose(moment);
  if (!next) return tl::unexpected(std::move(next.error()));
  if (!*next || next->value().plan == running_) return {};
  const bool keeps_limits = book_.keeps_limits(running_.value(), clusters_[static_cast<std::size_t>(moment.cluster)]);
  if (keeps_limits && !is_worth_it(next->value(), moment)) return {};
  if (reaction_.mode == ElasticityMode::kLive) {
    adopt(next->value().plan, moment, {.moving = next->value().pause});
  } else {
    save_state(true);
    adopt(next->value().plan, moment, {.saving = kAssumedCheckpointWriting, .starting = times_.restart});
  }
  return {};
}

bool JobReplay::is_worth_it(const Change& change, const Moment& moment) {
  const double present = figure_of(running_.value(), moment);
  if (!is_worth_moving(present, figure_of(change.plan, moment))) return false;
  return is_ahead_ ? pays_off(change, moment) : is_worth_moving(present, value_of(change, moment));
}

// A change that does not pay off is considered again once what the job forgoes is as long as the pause.
bool JobReplay::pays_off(const Change& change, const Moment& moment) {
  share_forgone_ = share_forgone(figure_of(running_.value(), moment), figure_of(change.plan, moment));
  if (is_worth_pausing(share_forgone_, change.pause, time_until_change(change.plan), forgone_ + kRounding)) return true;
  reconsider_at_ = now_ + (change.pause - forgone_) / share_forgone_;
  return false;
}

// The best plan for the cluster, or one that was the best for another cluster, if that is better once its pause counts.
Result<std::optional<JobReplay::Change>> JobReplay::choose(const Moment& moment) {
  const int cluster = clusters_[static_cast<std::size_t>(moment.cluster)];
  if (reaction_.mode == ElasticityMode::kOff) {
    const bool can_run = fixed_ && book_.fits(*fixed_, cluster) && book_.keeps_limits(*fixed_, cluster);
    return can_run ? std::optional(change_to(*fixed_)) : std::nullopt;
  }
  const auto best = book_.best(cluster, reaction_.style);
  if (!best && best.error().code == ErrorCode::kInfeasible) return std::optional<Change>();
  if (!best) return tl::unexpected(best.error());
  if (std::ranges::find(known_, *best) == known_.end()) known_.push_back(*best);
  Change chosen = change_to(*best);
  for (const int plan : known_) {
    if (plan == *best || figure_of(plan, moment) >= value_of(chosen, moment)) continue;
    if (!book_.fits(plan, cluster) || !book_.keeps_limits(plan, cluster)) continue;
    const Change other = change_to(plan);
    if (value_of(other, moment) < value_of(chosen, moment)) chosen = other;
  }
  return std::optional(chosen);
}

JobReplay::Change JobReplay::change_to(int plan) const {
  if (reaction_.mode == ElasticityMode::kLive && running_) return {plan, book_.pause(held_, plan)};
  return {plan, plan == running_ ? Seconds(0) : times_.restart};
}

double JobReplay::figure_of(int plan, const Moment& moment) const {
  return figure_for(job_.objective, book_.figures(plan, moment.prices));
}

Seconds JobReplay::time_until_change(int plan) const {
  return watch_.time_until_change(book_.plan(plan).gpus_of_pools);
}

double JobReplay::value_of(const Change& change, const Moment& moment) const {
  const double figure = figure_of(change.plan, moment);
  return is_ahead_ ? figure_with_pauses(figure, change.pause, time_until_change(change.plan))
                   : value_with_pause(figure, change.pause, times_.lifetime);
}

// A pause that is in progress does not end earlier because another one begins.
void JobReplay::adopt(int plan, const Moment& moment, const Pause& pause) {
  const auto groups = place_groups(book_.plan(plan).plan, rooms_of(moment, timeline_, nodes_));
  if (!groups) {  // groups of different sizes do not fit together on the nodes
    running_.reset();
    nodes_.clear();
    return;
  }
  if (!running_) held_ = {};  // the state is in a checkpoint
  next_held_ = book_.held_by(plan, *groups, moment.nodes);
  nodes_.clear();
  for (const PlacedGroup& group : *groups) nodes_.push_back(moment.nodes[group.node]);
  sort_unique(nodes_);
  if (pause.total() >= pause_.total()) pause_ = pause;
  if (has_started_) ++report_.changes;
  if (!has_started_) report_.planned_at = now_;
  has_started_ = true;
  running_ = plan;
  decided_at_ = now_;
  share_forgone_ = 0;
  forgone_ = Seconds(0);
  reconsider_at_.reset();
}

// Returns whether the state was written. `is_in_time`: before the nodes leave, and so all of it.
bool JobReplay::save_state(bool is_in_time) {
  const bool has_all = is_in_time || (reaction_.survivors_save && held_.is_complete());
  if (!has_all) {
    roll_back();
    return false;
  }
  if (job_.checkpoint.path.empty()) return false;  // the state stays in memory
  const bool is_new = report_.steps > checkpoint_;
  checkpoint_ = report_.steps;
  return is_new;
}

void JobReplay::note_lost_nodes(const Moment& moment) {
  for (const int node : nodes_) {
    if (std::ranges::binary_search(moment.nodes, node)) continue;
    lost_nodes_.push_back(timeline_.nodes[static_cast<std::size_t>(node)].name);
  }
}

void JobReplay::roll_back() { lose_down_to(checkpoint_); }

void JobReplay::lose_down_to(double step) {
  if (step >= report_.steps || step < checkpoint_) return;
  lost_steps_ += report_.steps - step;
  report_.steps = step;
}

// Steps that were lost and that the job has not repeated when the replay ends do not count.
void JobReplay::discount_lost_steps() {
  double left = furthest_ - report_.steps;
  for (; left > 0 && !first_runs_.empty(); first_runs_.pop_back()) {
    const FirstRun& last = first_runs_.back();
    const Seconds time = last.iteration * std::min(left, last.steps);
    report_.useful -= time;
    report_.lost[LostTime::kRepeating] += time;
    left -= last.steps;
  }
}

// A calm history does not make checkpoints rarer than the declared lifetimes do: a loss that was not seen yet costs
// more than the checkpoints.
double JobReplay::steps_between_checkpoints() const {
  constexpr double kTolerance = 1e-9;
  const KnownPlan& plan = book_.plan(running_.value());
  const Seconds iteration = plan.estimate.iteration;
  const double declared = plan.estimate.expected_loss.failures_per_hour;
  const double failures = is_ahead_ ? std::max(declared, watch_.failures_per_hour(plan.gpus_of_pools)) : declared;
  const double steps = time_between_checkpoints(job_.checkpoint, iteration, failures) / iteration;
  return std::max(1.0, std::floor(steps * (1 + kTolerance)));
}

Seconds JobReplay::next_stop(Seconds next_moment) const {
  if (running_ && reconsider_at_ && !may_improve_ && *reconsider_at_ > now_) {
    return std::min(*reconsider_at_, next_moment);
  }
  if (!running_ || !may_improve_ || reaction_.mode == ElasticityMode::kOff) return next_moment;
  const Seconds cool = decided_at_ + Seconds(std::chrono::duration<double>(kCoolDown).count());
  const Seconds wake = std::max(cool, now_ + pause_.total());
  return wake > now_ ? std::min(wake, next_moment) : next_moment;
}

void JobReplay::advance(const Moment& moment, Seconds until) {
  open_period(moment);
  ReplayPeriod& period = report_.periods.back();
  Seconds left = until - now_;
  const Seconds pause = running_ ? pass_pause(left) : Seconds(0);
  period.paused += pause;
  left -= pause;
  const Seconds trained = running_ ? train(left) : Seconds(0);
  forgone_ += trained * share_forgone_;
  if (!running_) report_.lost[LostTime::kWaiting] += left;
  const Seconds passed = report_.is_done ? pause + trained : until - now_;
  pay(moment, passed);
  now_ = report_.is_done ? now_ + passed : until;
  period.to = now_;
}

// Lets up to this time of the pause pass, and returns how much did.
Seconds JobReplay::pass_pause(Seconds time) {
  if (pause_.total() <= Seconds(0)) return Seconds(0);
  Seconds passed;
  const auto pass = [&](Seconds& part, LostTime cause) {
    const Seconds now = std::min(part, time - passed);
    part -= now;
    passed += now;
    report_.lost[cause] += now;
  };
  pass(pause_.planning, LostTime::kPlanning);
  pass(pause_.saving, LostTime::kSaving);
  pass(pause_.starting, LostTime::kStarting);
  pass(pause_.moving, LostTime::kRescaling);
  if (pause_.total() <= kRounding) {
    pause_ = {};
    held_ = next_held_;
  }
  return passed;
}

// Returns the time for which the job trains: this time, or what is left until it is done.
Seconds JobReplay::train(Seconds time) {
  const Seconds iteration = book_.plan(running_.value()).estimate.iteration;
  const double left = static_cast<double>(job_.training.steps) - report_.steps;
  const Seconds trained = std::min(time, iteration * left);
  report_.is_done = trained < time;
  const double steps = trained / iteration;
  const double repeated = std::clamp(furthest_ - report_.steps, 0.0, steps);
  const double reached = report_.steps + steps;
  report_.steps = reached;
  report_.computed += steps;
  report_.useful += iteration * (steps - repeated);
  first_runs_.push_back({steps - repeated, iteration});
  report_.lost[LostTime::kRepeating] += iteration * repeated;
  report_.cost += book_.plan(running_.value()).estimate.traffic_cost_per_iteration * steps;
  furthest_ = std::max(furthest_, reached);
  const double every = steps_between_checkpoints();
  const bool writes = !job_.checkpoint.path.empty() && reached >= checkpoint_ + every;
  if (writes) checkpoint_ += std::floor((reached - checkpoint_) / every) * every;
  return trained;
}

// The nodes of the pools are paid for while they exist, whether a plan uses them or not. A job that keeps its plan
// holds only the nodes that the plan needs.
void JobReplay::pay(const Moment& moment, Seconds time) {
  for (std::size_t pool = 0; pool < moment.prices.size(); ++pool) {
    const int used = running_ ? book_.plan(running_.value()).gpus_of_pools[pool] : 0;
    int held = moment.gpus_of_pools[pool];
    if (fixed_) held = std::min(held, book_.plan(*fixed_).gpus_of_pools[pool]);
    const Dollars price = moment.prices[pool] * time;
    report_.cost += price * held;
    report_.idle_cost += price * std::max(0, held - used);
  }
}

void JobReplay::open_period(const Moment& moment) {
  ReplayPeriod period{.from = now_, .to = now_};
  period.available_gpus = timeline_.clusters[static_cast<std::size_t>(moment.cluster)].free_gpus();
  period.lost_steps = std::exchange(lost_steps_, 0);
  period.lost_nodes = std::exchange(lost_nodes_, {});
  if (running_) {
    const KnownPlan& plan = book_.plan(running_.value());
    period.used_gpus = gpu_count(plan.plan);
    period.throughput = plan.estimate.throughput();
    period.plan = plan.hash;
  }
  if (!report_.periods.empty()) {
    const ReplayPeriod& last = report_.periods.back();
    const bool continues = last.available_gpus == period.available_gpus && last.plan == period.plan &&
                           period.lost_steps <= 0 && (decided_at_ < now_ || !running_);
    if (continues) return;
  }
  report_.periods.push_back(std::move(period));
}

}  // namespace sailor
