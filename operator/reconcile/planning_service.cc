#include "operator/reconcile/planning_service.h"

#include <algorithm>

namespace sailor {
namespace {

// The number of answers to keep for each job. A job that cannot start asks for the free nodes, for nodes that could be
// created, four times for GPUs of jobs with a lower priority, and for the GPUs of all jobs.
constexpr std::size_t kKept = 8;

}  // namespace

PlanningService::PlanningService(Search search, Hooks hooks, int threads)
    : search_(std::move(search)), hooks_(std::move(hooks)) {
  threads_.emplace_back([this](std::stop_token stop) { work(std::move(stop), true); });
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this](std::stop_token stop) { work(std::move(stop), false); });
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
  if (questions.searching && question.is_urgent) questions.stop.request_stop();
  const bool has_turn = questions.waiting && (questions.waiting->is_urgent || !question.is_urgent);
  questions.waiting = question;
  questions.asked_at = hooks_.clock();
  if (!questions.searching && !has_turn) give_turn(question);
}

void PlanningService::give_turn(const PlanQuestion& waiting) {
  (waiting.is_urgent ? urgent_ : routine_).push_back(waiting.job.key);
  asked_.notify_all();  // not every thread may take it
}

std::vector<PlanAnswer> PlanningService::take_answers(const JobKey& job) {
  const std::scoped_lock lock(mutex_);
  const auto questions = jobs_.find(job);
  if (questions == jobs_.end()) return {};
  std::deque<PlanAnswer>& answers = questions->second.answers;
  std::vector<PlanAnswer> taken(answers.begin(), answers.end());
  for (PlanAnswer& answer : answers) answer.is_new = false;
  return taken;
}

void PlanningService::withdraw(const JobKey& job) {
  const std::scoped_lock lock(mutex_);
  const auto questions = jobs_.find(job);
  if (questions == jobs_.end() || !questions->second.waiting) return;
  questions->second.waiting.reset();
  std::erase(urgent_, job);
  std::erase(routine_, job);
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

std::optional<JobKey> PlanningService::take(bool is_for_urgent_questions) {
  std::deque<JobKey>* queue = urgent_.empty() && !is_for_urgent_questions ? &routine_ : &urgent_;
  if (queue->empty()) return std::nullopt;
  JobKey job = std::move(queue->front());
  queue->pop_front();
  return job;
}

void PlanningService::work(std::stop_token stop, bool is_for_urgent_questions) {
  std::unique_lock lock(mutex_);
  const auto has_work = [&] { return !urgent_.empty() || (!is_for_urgent_questions && !routine_.empty()); };
  while (asked_.wait(lock, stop, has_work) && !stop.stop_requested()) {
    const JobKey job = take(is_for_urgent_questions).value();
    const auto found = jobs_.find(job);
    if (found == jobs_.end()) continue;
    JobQuestions& questions = found->second;
    if (!questions.waiting || questions.searching) continue;  // it has had its turn as an urgent one
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
  PlanAnswer found{.question = question, .result = fail(ErrorCode::kInternal, ""), .asked_at = asked, .is_new = true};
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
    if (questions->second.waiting) give_turn(*questions->second.waiting);
    if (stop.stop_requested()) {  // an urgent question has replaced this one, or the job is gone
      if (!questions->second.waiting && questions->second.answers.empty()) jobs_.erase(questions);
      return;
    }
    found.is_overtaken = questions->second.waiting.has_value();
    questions->second.answers.push_back(found);
    if (questions->second.answers.size() > kKept) questions->second.answers.pop_front();
  }
  hooks_.planned(found, seconds);
  hooks_.answered(job);
}

}  // namespace sailor
