#include "operator/reconcile/controller.h"

#include "operator/reconcile/decide/decide.h"

namespace sailor {

void Controller::reconcile(const JobKey& key) {
  const auto start = std::chrono::steady_clock::now();
  ReconcileReport report;
  report.job = key;
  try {
    reconcile_once(key, report);
  } catch (const std::exception& error) {
    report.failure = std::string("reconciling: ") + error.what();
    report.observation = nullptr;
    report.decision = nullptr;
    report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    hooks_.reconciled(report);
  }
  if (report.failure.empty()) {
    queue_.forget(key);
  } else {
    queue_.retry(key, report.retry_after);
  }
}

void Controller::reconcile_once(const JobKey& key, ReconcileReport& report) {
  const auto start = std::chrono::steady_clock::now();
  auto leftovers = leftovers_.remove(key);
  if (!leftovers) {
    report.failure = leftovers.error().message;
    report.retry_after = leftovers.error().retry_after.value_or(std::chrono::milliseconds(0));
    hooks_.reconciled(report);
    return;
  }
  report.leftovers = *std::move(leftovers);
  hooks_.waits();
  std::unique_lock claiming(claiming_);
  hooks_.goes_on();
  const auto observation = observer_.observe(key);
  if (!observation) {
    claiming.unlock();
    hooks_.forget(key);
    hooks_.reconciled(report);
    return;
  }
  hooks_.follow(*observation);
  const Decision decision = decide(*observation);
  if (!decision.is_provisional) {
    for (const JobKey& waiting : observer_.note_decided(*observation)) queue_.add(waiting, Lane::kRoutine);
  }
  const auto applied = applier_.apply(*observation, decision, [&claiming] { claiming.unlock(); });
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  report.observation = &*observation;
  report.decision = &decision;
  if (!applied) {
    report.failure = applied.error().message;
    report.retry_after = applied.error().retry_after.value_or(std::chrono::milliseconds(0));
    report.is_conflict = applied.error().is_conflict() || applied.error().already_exists();
  }
  if (applied && decision.requeue_after) queue_.add_after(key, *decision.requeue_after);
  hooks_.reconciled(report);
  report.observation = nullptr;  // they do not outlive this function
  report.decision = nullptr;
}

}  // namespace sailor
