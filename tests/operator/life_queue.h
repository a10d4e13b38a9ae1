// The queue of Kueue in a random life: some jobs are in it, and it gives and takes their GPUs at any time.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "tests/operator/fake_kueue.h"

namespace sailor::testing {

class LifeQueue {
 public:
  // `below` draws a number from 0 to below its argument. Every other life has a queue.
  LifeQueue(World& world, std::function<int(int)> below, std::function<void(const std::string&)> say)
      : below_(std::move(below)), say_(std::move(say)) {
    if (below_(2) == 0) return;
    kueue_.emplace(world);
    change_quota();
  }

  // The labels of a job that is about to be added.
  Json labels() { return kueue_ && below_(3) != 0 ? Json{{kQueueLabel, "team"}} : Json::object(); }

  void admit() {
    if (!kueue_) return;
    say_("the queue admits");
    kueue_->admit();
  }
  void change_quota() {
    if (!kueue_) return;
    quota_ = below_(9);
    say_(fmt::format("quota {}", quota_));
    kueue_->add_flavor("all", quota_);
    kueue_->evict_beyond_quota();
  }
  void evict_one() {
    const std::vector<Workload> all = kueue_ ? kueue_->workloads() : std::vector<Workload>();
    if (all.empty()) return;
    const Workload& workload = all.at(static_cast<std::size_t>(below_(static_cast<int>(all.size()))));
    if (!workload.has_reservation || workload.is_evicted) return;
    say_("evict " + workload.name);
    kueue_->evict(workload.name);
  }
  void give_what_is_left() {
    if (!kueue_) return;
    kueue_->evict_beyond_quota();
    kueue_->admit();
  }

  [[nodiscard]] static bool has(const Json& job) { return !kube::label_of(job, kQueueLabel).empty(); }
  // The quota that the queue keeps for a job.
  [[nodiscard]] int quota_of(const std::string& job_uid) const {
    int gpus = 0;
    for (const Workload& workload : kueue_->workloads()) {
      if (kube::controller_uid(*workload.object) == job_uid) gpus += workload.reserved_gpus();
    }
    return gpus;
  }
  [[nodiscard]] int left() const { return quota_ - kueue_->used("all"); }

 private:
  std::function<int(int)> below_;
  std::function<void(const std::string&)> say_;
  std::optional<FakeKueue> kueue_;
  int quota_ = 0;
};

}  // namespace sailor::testing
