#include "operator/reconcile/planning_service.h"

#include <algorithm>

namespace sailor {
namespace {

// The number of answers to keep for each job: for the survivors, for all nodes, for nodes that could be created, and
// one more.
constexpr std::size_t kKept = 4;

}  // namespace

PlanningService::PlanningService(Search search, Hooks hooks, int threads)
    : search_(std::move(search)), hooks_(std::move(hooks)) {
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this](std::stop_token stop) { work(stop); });
  }
}

PlanningService::~PlanningService() {
  for (std::jthread& thread : threads_) thread.request_stop();  // first, so that no thread begins another search
  const std::scoped_lock lock(mutex_);
  for (auto& [key, questions] : jobs_) questions.stop.request_stop();
}

void PlanningService::ask(const PlanQuestion& question) {
  const std::scoped_lock lock(mutex_);
  JobQuestions& questions = jobs_[question.job.key];
  const bool is_answered =
      std::ranges::find(questions.answers, question, &PlanAnswer::question) != questions.answers.end();
  const bool is_searched = questions.searching == question && !questions.stop.stop_requested();
  if (questions.waiting == question || is_searched || is_answered) return;
  if (questions.searching) questions.stop.request_stop();
  if (!questions.waiting) queue_.push_back(question.job.key);
  questions.waiting = question;
  questions.asked_at = hooks_.clock();
  asked_.notify_one();
}

std::vector<PlanAnswer> PlanningService::answers(const JobKey& job) const {
  const std::scoped_lock lock(mutex_);
  const auto questions = jobs_.find(job);
  if (questions == jobs_.end()) return {};
  return {questions->second.answers.begin(), questions->second.answers.end()};
}

void PlanningService::forget(const JobKey& job) {
  const std::scoped_lock lock(mutex_);
  const auto questions = jobs_.find(job);
  if (questions == jobs_.end()) return;
  questions->second.waiting.reset();
  questions->second.answers.clear();
  questions->second.stop.request_stop();
  if (!questions->second.searching) jobs_.erase(questions);
}

void PlanningService::work(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  while (asked_.wait(lock, stop, [this] { return !queue_.empty(); }) && !stop.stop_requested()) {
    const JobKey job = queue_.front();
    queue_.pop_front();
    const auto found = jobs_.find(job);
    if (found == jobs_.end() || !found->second.waiting) continue;
    JobQuestions& questions = found->second;
    if (questions.searching) {  // another thread is still stopping its search, so try again soon
      queue_.push_back(job);
      asked_.wait_for(lock, stop, std::chrono::milliseconds(10), [] { return false; });
      continue;
    }
    const PlanQuestion question = std::exchange(questions.waiting, std::nullopt).value();
    questions.searching = question;
    questions.stop = std::stop_source();
    const Time asked = questions.asked_at;
    const std::stop_token search_stop = questions.stop.get_token();
    lock.unlock();
    answer(question, asked, search_stop);
    lock.lock();
  }
}

void PlanningService::answer(const PlanQuestion& question, Time asked, std::stop_token stop) {
  const auto start = std::chrono::steady_clock::now();
  const JobKey& job = question.job.key;
  PlanAnswer found{question, fail(ErrorCode::kInternal, ""), asked};
  try {
    found.result = search_(question, stop);
  } catch (const std::exception& error) {
    found.result = fail(ErrorCode::kInternal, std::string("planning: ") + error.what());
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  {
    const std::scoped_lock lock(mutex_);
    const auto questions = jobs_.find(job);
    if (questions == jobs_.end()) return;
    questions->second.searching.reset();
    if (stop.stop_requested()) {  // the cluster has changed, so nobody needs the answer
      if (!questions->second.waiting && questions->second.answers.empty()) jobs_.erase(questions);
      return;
    }
    questions->second.answers.push_back(found);
    if (questions->second.answers.size() > kKept) questions->second.answers.pop_front();
  }
  hooks_.planned(found, seconds);
  hooks_.answered(job);
}

}  // namespace sailor
