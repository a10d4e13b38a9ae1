// Agents: a few real agents with their workers, and what a test does with them as their operator.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/trainer/support/agent_process.h"
#include "tests/trainer/support/assignments.h"

namespace sailor::trainer::testing {

inline constexpr double kLossTolerance = 1e-4;

bool all_are(const AgentReport& report, WorkerPhase phase);

class Agents : public ::testing::Test {
 protected:
  void TearDown() override;

  void start(int count, const std::vector<std::string>& more = {}, int gpus = 1);

  // Gives the generation to the agents of these numbers; ones that it does not need leave.
  void assign(const Assignment& job, std::int64_t number, const std::vector<StageShares>& shares,
              const std::vector<std::size_t>& to);

  JobProgress wait_for_step(std::size_t agent, std::int64_t number, std::int64_t step);
  void wait_for_phase(std::size_t agent, WorkerPhase phase);
  void wait_until_missed(std::size_t by, std::size_t pod);
  JobProgress last_progress(std::size_t agent);  // once it has ended

  // The loss at the end when one worker runs the job undisturbed.
  double undisturbed_loss(const Assignment& job);

  Assignment job(std::int64_t steps);

  Scratch scratch_;
  std::vector<std::unique_ptr<AgentProcess>> agents_;
};

}  // namespace sailor::trainer::testing
