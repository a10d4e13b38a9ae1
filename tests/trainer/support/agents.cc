#include "tests/trainer/support/agents.h"

#include <algorithm>
#include <iostream>

namespace sailor::trainer::testing {

bool all_are(const AgentReport& report, WorkerPhase phase) {
  return std::ranges::all_of(report.workers, [=](const WorkerReport& worker) { return worker.phase == phase; });
}

// A test that waited in vain says what each pod did.
void Agents::TearDown() {
  if (!HasFailure()) return;
  for (const auto& agent : agents_) std::cerr << "log of " << agent->address().name << ":\n" << agent->log();
}

void Agents::start(int count, const std::vector<std::string>& more, int gpus) {
  const auto before = agents_.size();  // some of them may have ended
  for (int i = 0; i < count; ++i) agents_.push_back(std::make_unique<AgentProcess>(scratch_.folder(), more, gpus));
  for (auto i = before; i < agents_.size(); ++i) agents_[i]->wait_until_ready();
}

void Agents::assign(const Assignment& job, std::int64_t number, const std::vector<StageShares>& shares,
                    const std::vector<std::size_t>& to) {
  std::vector<AgentAddress> addresses;
  for (const std::size_t i : to) addresses.push_back(agents_[i]->address());
  const Assignment assignment = generation(job, number, plan_of(job, shares), addresses);
  for (const std::size_t i : to) ASSERT_EQ(agents_[i]->put(assignment), 200);
}

JobProgress Agents::wait_for_step(std::size_t agent, std::int64_t number, std::int64_t step) {
  return *agents_[agent]
              ->wait_until([=](const AgentReport& report) {
                return report.progress && report.progress->generation == number && report.progress->step >= step;
              })
              .progress;
}

void Agents::wait_for_phase(std::size_t agent, WorkerPhase phase) {
  agents_[agent]->wait_until([=](const AgentReport& report) { return all_are(report, phase); });
}

void Agents::wait_until_missed(std::size_t by, std::size_t pod) {
  const std::string name = agents_[pod]->address().name;
  agents_[by]->wait_until(
      [&](const AgentReport& report) { return std::ranges::count(report.unresponsive_peers, name) == 1; });
}

JobProgress Agents::last_progress(std::size_t agent) {
  EXPECT_EQ(agents_[agent]->wait_for_exit(), 0) << agents_[agent]->log();
  const auto report =
      agent_report_from_json(nlohmann::json::parse(agents_[agent]->termination_report(), nullptr, false));
  EXPECT_TRUE(report && report->progress) << agents_[agent]->termination_report();
  return report && report->progress ? *report->progress : JobProgress{};
}

double Agents::undisturbed_loss(const Assignment& job) {
  AgentProcess agent(scratch_.folder());
  agent.wait_until_ready();
  EXPECT_EQ(agent.put(generation(job, 1, plan_of(job, {{0, 5, {8}}}), {agent.address()})), 200);
  EXPECT_EQ(agent.wait_for_exit(), 0);
  return agent_report_from_json(nlohmann::json::parse(agent.termination_report()))->progress->loss;
}

Assignment Agents::job(std::int64_t steps) {
  Assignment job = tiny_job(scratch_.text());
  job.training.steps = steps;
  job.training.optimizer.learning_rate = 3e-4;  // gentle: rounding must not grow over so many steps
  return job;
}

}  // namespace sailor::trainer::testing
