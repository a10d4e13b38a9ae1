#include "operator/operator.h"

#include "operator/log.h"
#include "operator/runtime.h"

namespace sailor {
namespace {

constexpr auto kHousekeeping = std::chrono::seconds(2);  // between two looks at queue, cluster and process
constexpr auto kStuck = std::chrono::minutes(2);         // a pass that takes longer hangs

}  // namespace

bool Operator::Parts::is_alive() const {
  const std::int64_t since = busy_since.load();
  if (since == 0) return true;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return now - std::chrono::seconds(since) < kStuck;
}

void Operator::Parts::start_servers() {
  if (!options.metrics_address.empty()) {
    exposer = std::make_unique<prometheus::Exposer>(options.metrics_address, 1);
    exposer->RegisterCollectable(metrics.registry());
  }
  if (!options.health_address.empty()) {
    health = std::make_unique<HealthServer>(
        "http://" + options.health_address, [this] { return is_alive(); }, [this] { return caches.are_synced(); });
  }
  if (!options.callback_address.empty()) {
    callback = std::make_unique<CallbackServer>("http://" + options.callback_address, callback_hooks());
  }
}

void Operator::Parts::housekeep() {
  metrics.queue(queue.depth(), queue.statistics());
  metrics.leads(kLeaderLease, !options.elects_leader || election.may_write());
  if (caches.are_synced()) metrics.cluster(observer.cluster());
  metrics.process();
}

void Operator::Parts::work(std::stop_token stop) {
  while (!caches.are_synced() && !stop.stop_requested()) kube::interruptible_sleep(std::chrono::milliseconds(20), stop);
  log_line(spdlog::level::info, "reconciling", {{"jobs", std::to_string(caches.jobs.all().size())}});
  add_all();
  while (const auto key = queue.take(stop)) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    busy_since = std::chrono::duration_cast<std::chrono::seconds>(now).count() + 1;
    controller.reconcile(*key);
    queue.done(*key);
    busy_since = 0;
  }
}

// Reconciles for as long as it leads.
bool Operator::Parts::lead(std::stop_token stop) {
  if (options.elects_leader && !election.acquire(stop)) return true;
  if (options.elects_leader) log_line(spdlog::level::info, "leading", {{"identity", options.identity}});
  std::jthread worker([this](std::stop_token worker_stop) { work(std::move(worker_stop)); });
  bool has_lost = false;
  while (!stop.stop_requested() && !has_lost) {
    housekeep();
    if (options.elects_leader) {
      election.try_once();
      has_lost = !election.may_write();
    }
    if (!has_lost) kube::interruptible_sleep(kHousekeeping, stop);
  }
  worker.request_stop();
  worker.join();
  if (has_lost) log_line(spdlog::level::err, "leadership lost", {{"identity", options.identity}});
  if (options.elects_leader && !has_lost) election.release();
  return !has_lost;
}

Operator::Operator(OperatorOptions options) : parts_(std::make_unique<Parts>(std::move(options))) {}

Operator::~Operator() {
  parts_->callback.reset();
  parts_->health.reset();
  for (std::jthread& thread : parts_->threads) thread.request_stop();
  parts_->threads.clear();
}

bool Operator::run(std::stop_token stop) {
  parts_->start_servers();
  parts_->start_reflectors();
  return parts_->lead(std::move(stop));
}

}  // namespace sailor
