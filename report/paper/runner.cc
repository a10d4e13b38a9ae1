#include "report/paper/runner.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "planner/planner.h"
#include "simulator/simulator.h"

namespace sailor::paper {
namespace {

using Clock = std::chrono::steady_clock;

struct Simulators {
  Simulator paper;
  Simulator trainer;

  explicit Simulators(const Artifact& artifact)
      : paper(artifact.profiles, artifact.network, *find_execution_model("sailor-paper")),
        trainer(artifact.profiles, artifact.network, trainer_execution_model()) {}
};

// A job on a cluster, and what our planner answers.
struct Question {
  JobSpec job;
  ClusterState cluster;
  std::vector<PlanResult> answers;
};

Outcome outcome_of(const Estimate& estimate) {
  return {estimate.throughput(), estimate.cost_per_iteration(), estimate.fits() ? "" : estimate.violations.front()};
}

void price(const Plan& plan, const Question& question, const Simulators& simulators, PlanResult& result) {
  const auto by_paper = simulators.paper.simulate(question.job, question.cluster, plan);
  const auto by_trainer = simulators.trainer.simulate(question.job, question.cluster, plan);
  if (!by_paper || !by_trainer) {
    result.failure = by_paper ? by_trainer.error().message : by_paper.error().message;
    return;
  }
  result.by_paper = outcome_of(*by_paper);
  result.by_trainer = outcome_of(*by_trainer);
  result.gpus = by_paper->gpus;
}

// One way to ask our planner.
struct Way {
  std::string_view name;
  PlanSpace space;
  const Simulator& simulator;
};

PlanResult planned(const Way& way, const Question& question, const Simulators& simulators,
                   const std::stop_token& stop) {
  PlanResult result{.planner = std::string(way.name)};
  PlanOptions options;
  options.space = way.space;
  const Clock::time_point start = Clock::now();
  const auto answer = Planner(way.simulator).plan(question.job, question.cluster, options, stop);
  result.search = Seconds(std::chrono::duration<double>(Clock::now() - start).count());
  if (answer) {
    price(answer->plan, question, simulators, result);
  } else {
    result.failure = answer.error().message;
  }
  return result;
}

void answer(Question& question, const Simulators& simulators, const std::stop_token& stop) {
  for (const Way& way :
       {Way{kOursPaper, PlanSpace::kPaper, simulators.paper}, Way{kOursFlow, PlanSpace::kFlow, simulators.paper},
        Way{kOursTrainer, PlanSpace::kFlow, simulators.trainer}}) {
    question.answers.push_back(planned(way, question, simulators, stop));
  }
}

void answer_all(std::vector<Question>& questions, const Simulators& simulators, const std::stop_token& stop) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < questions.size(); i = next++) answer(questions[i], simulators, stop);
  };
  std::vector<std::jthread> threads(std::max(1U, std::thread::hardware_concurrency()) - 1);
  for (std::jthread& thread : threads) thread = std::jthread(work);
  work();
}

PlanResult priced(const RecordedPlan& recorded, const Question& question, const Simulators& simulators) {
  PlanResult result{.planner = recorded.planner, .recorded = recorded.outcome, .search = recorded.search};
  price(recorded.plan, question, simulators, result);
  return result;
}

// Adds the question of the case unless an equal one is there, and returns its index.
Result<std::size_t> add_question(const Case& one, const Artifact& artifact, std::vector<Question>& questions) {
  auto cluster = cluster_of(one, artifact);
  if (!cluster) return tl::unexpected(std::move(cluster.error()));
  Question question{job_of(one, artifact), *std::move(cluster), {}};
  const auto equal = std::ranges::find_if(
      questions, [&](const Question& other) { return other.job == question.job && other.cluster == question.cluster; });
  const auto index = static_cast<std::size_t>(equal - questions.begin());
  if (equal == questions.end()) questions.push_back(std::move(question));
  return index;
}

}  // namespace

const PlanResult* CaseResult::find(std::string_view planner) const {
  const auto found = std::ranges::find(plans, planner, &PlanResult::planner);
  return found == plans.end() ? nullptr : &*found;
}

Result<std::vector<CaseResult>> run_cases(std::span<const Case* const> cases, const Artifact& artifact,
                                          const std::filesystem::path& peer_plans, std::stop_token stop) {
  const Simulators simulators(artifact);
  std::vector<Question> questions;
  std::vector<CaseResult> results;
  std::vector<std::size_t> question_of;
  for (const Case* one : cases) {
    const auto index = add_question(*one, artifact, questions);
    if (!index) return tl::unexpected(index.error());
    question_of.push_back(*index);
    results.push_back({one->name, {}});
    if (peer_plans.empty() || one->recorded.empty()) continue;
    const auto recorded = read_recorded_plans(peer_plans / one->recorded);
    if (!recorded) return tl::unexpected(recorded.error());
    for (const RecordedPlan& plan : *recorded) {
      results.back().plans.push_back(priced(plan, questions[*index], simulators));
    }
  }
  answer_all(questions, simulators, stop);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto& answers = questions[question_of[i]].answers;
    results[i].plans.insert(results[i].plans.end(), answers.begin(), answers.end());
  }
  return results;
}

}  // namespace sailor::paper
