// PlanningService: searches for plans on its own threads, so that a reconcile never waits for a search. A decision asks
// a question; the hook `answered` then queues the job, and the next observation contains the answer.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "operator/model/observation.h"

namespace sailor {

class PlanningService {
 public:
  using Search = std::function<Result<PlannedJob>(const PlanQuestion&, std::stop_token)>;
  struct Hooks {
    std::function<void(const JobKey&)> answered = [](const JobKey&) {};  // called with each answer, to queue the job
    // Called with each answer and the time that the search took, for metrics and logs.
    std::function<void(const PlanAnswer&, double seconds)> planned = [](const auto&...) {};
    Clock clock = system_time;
  };

  // Runs up to `threads` searches at the same time. One more thread serves urgent questions only, so that they never
  // wait for the end of a routine search.
  PlanningService(Search search, Hooks hooks, int threads);
  ~PlanningService();  // stops the searches and waits for them
  PlanningService(const PlanningService&) = delete;
  PlanningService& operator=(const PlanningService&) = delete;

  // Each job has at most one waiting question and one search. A new question replaces the waiting one. An urgent one
  // also stops the search, because the job needs the answer at once. A routine one lets the search end: in a cluster
  // that changes faster than searches end, a job would never get a plan otherwise. The answer is then marked as
  // overtaken. A question that is waiting, being searched for, or answered is ignored.
  void ask(const PlanQuestion& question);
  // The job has no question any more: drops the waiting one. A search that has begun ends, because its answer may serve
  // the next question.
  void withdraw(const JobKey& job);
  // Returns the newest eight answers. Each of them is new for the first caller only.
  [[nodiscard]] std::vector<PlanAnswer> take_answers(const JobKey& job);
  void forget(const JobKey& job);  // stops the search for the job and drops its answers

 private:
  struct JobQuestions {
    std::optional<PlanQuestion> waiting;
    std::optional<PlanQuestion> searching;
    Time asked_at;          // the time of `waiting`, or of `searching` if nothing waits
    std::stop_source stop;  // stops the search for `searching`
    std::deque<PlanAnswer> answers;
  };
  void give_turn(const PlanQuestion& waiting);
  void work(std::stop_token stop, bool is_for_urgent_questions);
  [[nodiscard]] std::optional<JobKey> take(bool is_for_urgent_questions);
  void answer(const PlanQuestion& question, Time asked, std::stop_token stop);

  Search search_;
  Hooks hooks_;
  mutable std::mutex mutex_;
  std::condition_variable_any asked_;
  std::map<JobKey, JobQuestions> jobs_;
  // The jobs with a waiting question, in the order of their turns. A job whose question has become urgent is in both. A
  // job for which a thread searches gets its turn when the search ends.
  std::deque<JobKey> urgent_;
  std::deque<JobKey> routine_;
  std::vector<std::jthread> threads_;  // declared last, because the threads use all other members
};

}  // namespace sailor
