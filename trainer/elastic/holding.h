// Holding: what a worker brings to a rendezvous. And what follows from all workers' holdings: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/model/assignment.h"
#include "trainer/step/roster.h"

namespace sailor::trainer {

struct Holding {
  std::vector<int> pieces;     // ascending ids
  std::int64_t step = 0;       // optimizer steps that they contain
  bool has_gradients = false;  // complete gradients of the step after it
  double squared_norm = 0;     // of the gradient of the last step that was applied here
  std::int64_t reached = 0;    // the step it was at: `step`, or one more if it was cut off within it
  double first_loss = 0;       // of the job's first step, if known here
  friend bool operator==(const Holding&, const Holding&) = default;
};

std::string to_line(const Holding& holding);
Result<Holding> holding_from_line(const std::string& line);

// Where a generation goes on from, if memory alone is enough.
struct ResumePoint {
  std::int64_t step = 0;
  double squared_norm = 0;  // of the gradient of this step, for those who still have to apply it
  friend bool operator==(const ResumePoint&, const ResumePoint&) = default;
};

// The newest step for which every piece is held by somebody, who either contains it or holds its complete gradients
// while somebody else has applied it. Nothing: some piece is lost, or nobody has trained yet.
std::optional<ResumePoint> resume_point(const Roster& roster, const std::vector<Holding>& holdings);

// True if the worker's pieces are of this step, perhaps after applying the gradients that it holds.
bool can_offer(const Holding& holding, const ResumePoint& point);

struct Move {
  int piece = 0;
  int from = 0;  // ranks
  int to = 0;
  friend bool operator==(const Move&, const Move&) = default;
};

// Every piece that a worker needs and cannot offer itself, once, from the nearest holder (same pod, zone, region);
// of equally near ones from the one that sends least so far. The same list on every worker.
std::vector<Move> moves(const Assignment& assignment, const Roster& roster, const std::vector<Holding>& holdings,
                        const ResumePoint& point);

// Steps whose work is thrown away by going on from this step.
std::int64_t steps_lost(const std::vector<Holding>& holdings, std::int64_t resumed_step);

}  // namespace sailor::trainer
