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

  PlanningService(Search search, Hooks hooks, int threads);
  ~PlanningService();  // stops the searches and waits for them
  PlanningService(const PlanningService&) = delete;
  PlanningService& operator=(const PlanningService&) = delete;

  // Each job has at most one waiting question and one search. A new question replaces the waiting one and stops the
  // search, because the cluster has changed and the job no longer needs that answer. A question that is waiting, being
  // searched for, or answered is ignored.
  void ask(const PlanQuestion& question);
  [[nodiscard]] std::vector<PlanAnswer> answers(const JobKey& job) const;  // the newest four
  void forget(const JobKey& job);  // stops the search for the job and drops its answers

 private:
  struct JobQuestions {
    std::optional<PlanQuestion> waiting;
    std::optional<PlanQuestion> searching;
    Time asked_at;          // the time of `waiting`, or of `searching` if nothing waits
    std::stop_source stop;  // stops the search for `searching`
    std::deque<PlanAnswer> answers;
  };
  void work(std::stop_token stop);
  void answer(const PlanQuestion& question, Time asked, std::stop_token stop);

  Search search_;
  Hooks hooks_;
  mutable std::mutex mutex_;
  std::condition_variable_any asked_;
  std::map<JobKey, JobQuestions> jobs_;
  std::deque<JobKey> queue_;           // the jobs with a waiting question, in the order of their turns
  std::vector<std::jthread> threads_;  // declared last, because the threads use all other members
};

}  // namespace sailor
