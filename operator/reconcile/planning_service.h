// PlanningService: answers questions to the planner on separate threads, so that no reconcile waits for a search.
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
    std::function<void(const JobKey&)> answered = [](const JobKey&) {};
    std::function<void(const PlanAnswer&, double seconds)> observe = [](const auto&...) {};
    Clock clock = system_time;
  };

  PlanningService(Search search, Hooks hooks, int threads);
  ~PlanningService();  // stops the searches and waits for them
  PlanningService(const PlanningService&) = delete;
  PlanningService& operator=(const PlanningService&) = delete;

  // A newer question about a job replaces a waiting one and stops the search for one that is being answered, because
  // the cluster has changed and the answer is not needed any more. A question that is known already is ignored.
  void ask(const PlanQuestion& question);
  [[nodiscard]] std::vector<PlanAnswer> answers(const JobKey& job) const;  // the newest few
  void forget(const JobKey& job);

 private:
  struct JobQuestions {  // of one job
    std::optional<PlanQuestion> waiting;
    std::optional<PlanQuestion> searching;
    Time asked_at;          // the one that waits
    std::stop_source stop;  // of the search
    std::deque<PlanAnswer> answers;
  };
  void work(std::stop_token stop);
  void answer(const PlanQuestion& question, Time asked, std::stop_token stop);

  Search search_;
  Hooks hooks_;
  mutable std::mutex mutex_;
  std::condition_variable_any asked_;
  std::map<JobKey, JobQuestions> jobs_;
  std::deque<JobKey> queue_;
  std::vector<std::jthread> threads_;  // last: they use all of the above
};

}  // namespace sailor
