#include "operator/reconcile/planning_service.h"

#include <algorithm>

namespace sailor {
namespace {

// Answers a job: of survivors, of all nodes, of nodes that could be made, and one more.
constexpr std::size_t kKept = 4;

}  // namespace

PlanningService::PlanningService(Search search, Hooks hooks, int threads)
    : search_(std::move(search)), hooks_(std::move(hooks)) {
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this](std::stop_token stop) { work(stop); });
  }
}

PlanningService::~PlanningService() {
  for (std::jthread& thread : threads_) thread.request_stop();  // first: none may begin another search
  const std::scoped_lock lock(mutex_);
  for (auto& [key, desk] : desks_) desk.stop.request_stop();
}

void PlanningService::ask(const PlanQuestion& question) {
  const std::scoped_lock lock(mutex_);
  Desk& desk = desks_[question.job.key];
  const bool is_answered = std::ranges::find(desk.answers, question, &PlanAnswer::question) != desk.answers.end();
  const bool is_searched = desk.searching == question && !desk.stop.stop_requested();
  if (desk.waiting == question || is_searched || is_answered) return;
  if (desk.searching) desk.stop.request_stop();
  if (!desk.waiting) turns_.push_back(question.job.key);
  desk.waiting = question;
  desk.asked = hooks_.clock();
  asked_.notify_one();
}

std::vector<PlanAnswer> PlanningService::answers(const JobKey& job) const {
  const std::scoped_lock lock(mutex_);
  const auto desk = desks_.find(job);
  if (desk == desks_.end()) return {};
  return {desk->second.answers.begin(), desk->second.answers.end()};
}

void PlanningService::forget(const JobKey& job) {
  const std::scoped_lock lock(mutex_);
  const auto desk = desks_.find(job);
  if (desk == desks_.end()) return;
  desk->second.waiting.reset();
  desk->second.answers.clear();
  desk->second.stop.request_stop();
  if (!desk->second.searching) desks_.erase(desk);
}

void PlanningService::work(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  while (asked_.wait(lock, stop, [this] { return !turns_.empty(); }) && !stop.stop_requested()) {
    const JobKey job = turns_.front();
    turns_.pop_front();
    const auto found = desks_.find(job);
    if (found == desks_.end() || !found->second.waiting) continue;
    Desk& desk = found->second;
    if (desk.searching) {  // another thread is being stopped; this turn comes when it is done
      turns_.push_back(job);
      asked_.wait_for(lock, stop, std::chrono::milliseconds(10), [] { return false; });
      continue;
    }
    desk.searching = std::exchange(desk.waiting, std::nullopt);
    desk.stop = std::stop_source();
    const PlanQuestion question = *desk.searching;
    const Time asked = desk.asked;
    const std::stop_token search_stop = desk.stop.get_token();
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
    const auto desk = desks_.find(job);
    if (desk == desks_.end()) return;
    desk->second.searching.reset();
    if (stop.stop_requested()) {  // of a world that is no more
      if (!desk->second.waiting && desk->second.answers.empty()) desks_.erase(desk);
      return;
    }
    desk->second.answers.push_back(found);
    if (desk->second.answers.size() > kKept) desk->second.answers.pop_front();
  }
  hooks_.observe(found, seconds);
  hooks_.answered(job);
}

}  // namespace sailor
