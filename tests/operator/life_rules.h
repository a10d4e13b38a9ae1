// The rules that a random life must not break (docs/operator.md), and what it must come to at rest.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "operator/model/cluster_view.h"
#include "operator/model/names.h"
#include "tests/operator/life_queue.h"
#include "tests/operator/world.h"

namespace sailor::testing {

inline bool is_live(const Json& pod) {
  const std::string phase = kube::text_at(pod, {"status", "phase"});
  return phase != "Succeeded" && phase != "Failed";
}

// A pod that only looks like one of a job.
inline Json foreign_pod() {
  return {{"metadata", {{"name", "foreign"}, {"namespace", "default"}, {"labels", {{kJobNameLabel, "one"}}}}},
          {"spec", {{"containers", Json::array({{{"name", "other"}}})}}},
          {"status", {{"phase", "Running"}}}};
}

class LifeRules {
 public:
  // `story` tells what has happened, for the messages.
  LifeRules(World& world, const LifeQueue& queue, std::function<std::string()> story)
      : world_(world), queue_(queue), story_(std::move(story)) {}

  // What a former leader knew when it was paused is old, so there may be no room for the pods of its plan or for those
  // of another job. The scheduler leaves such pods pending until they are given up. At rest there are none.
  void note_write_of_former_leader() { has_former_leader_written_ = true; }
  void forget_job(const std::string& uid) { ended_.erase(uid); }

  void check_safety() {
    std::map<std::string, int> used;
    std::set<std::pair<std::string, std::string>> places;
    for (const Json& pod : world_.api_server.all("pods")) {
      const std::string node = node_of_pod(pod);
      const bool is_bound = !kube::text_at(pod, {"spec", "nodeName"}).empty();
      if (!is_live(pod) || is_ending(pod) || node.empty() || (has_former_leader_written_ && !is_bound)) continue;
      used[node] += gpus_of_pod(pod);
      EXPECT_TRUE(places.emplace(kube::label_of(pod, kJobUidLabel), node).second)
          << "two pods of a job on node " << node << story_();
    }
    for (const auto& [node, gpus] : used) EXPECT_LE(gpus, 2) << "more pods than GPUs on node " << node << story_();
    for (const Json& job : world_.api_server.all("trainingjobs")) {
      const std::string state = kube::text_at(job, {"status", "state"});
      check_quota(job);
      const auto ended = ended_.find(kube::uid_of(job));
      EXPECT_TRUE(ended == ended_.end() || ended->second == state) << "a final state is undone: " << state << story_();
      if (state == "Complete" || state == "Failed") ended_.emplace(kube::uid_of(job), state);
    }
  }

  void check_rest() {
    has_former_leader_written_ = false;
    check_safety();
    for (const Json& job : world_.api_server.all("trainingjobs")) check_job_at_rest(job);
    const int writes = world_.api_server.writes;
    world_.settle_all_jobs();
    EXPECT_EQ(world_.api_server.writes, writes) << "the operator writes at rest" << story_();
    EXPECT_EQ(world_.api_server.find("pods", "foreign").value("spec", Json()), foreign_pod()["spec"]) << story_();
  }

 private:
  // The agent has told that it ends. The next pod may wait for its GPUs already.
  [[nodiscard]] bool is_ending(const Json& pod) const {
    const auto agent = world_.agents.find(kube::uid_of(pod));
    return agent != world_.agents.end() && agent->second.report && agent->second.report->exit_status;
  }

  // A queue that takes GPUs back keeps them reserved until the job's pods no longer have them.
  void check_quota(const Json& job) {
    if (!LifeQueue::has(job)) return;
    int gpus = 0;
    for (const Json& pod : world_.api_server.all("pods")) {
      const bool is_ours = kube::label_of(pod, kJobUidLabel) == kube::uid_of(job);
      const bool is_unbound = kube::text_at(pod, {"spec", "nodeName"}).empty();
      if (!is_ours || !is_live(pod) || is_ending(pod) || (has_former_leader_written_ && is_unbound)) continue;
      gpus += gpus_of_pod(pod);
    }
    EXPECT_LE(gpus, queue_.quota_of(kube::uid_of(job)))
        << "GPUs beyond the quota of " << kube::name_of(job) << story_();
  }

  void check_job_at_rest(const Json& job) {
    const std::string name = kube::name_of(job);
    const std::string state = kube::text_at(job, {"status", "state"});
    const std::string reason = kube::text_at(job, {"status", "reason"});
    SCOPED_TRACE(fmt::format("job {} is {} ({}){}\n{}", name, state, reason, story_(), conditions_of(job)));
    const bool has_ended = state == "Complete" || state == "Failed";
    EXPECT_TRUE(has_ended || kube::integer_at(job, {"status", "observedGeneration"}) ==
                                 kube::integer_at(job, {"metadata", "generation"}))
        << "the status is about an older spec";
    const int gpus = live_gpus_of(kube::uid_of(job));
    const std::string mode = kube::text_at(job, {"spec", "elasticity", "mode"});
    const bool keeps_plan = mode == "Off" || (mode == "Restart" && !job["spec"].contains("checkpoint"));
    const int least = static_cast<int>(kube::integer_at(job, {"spec", "resources", "minGpus"}));
    const int most = static_cast<int>(kube::integer_at(job, {"spec", "resources", "maxGpus"}));
    if (has_ended) {
      EXPECT_EQ(gpus, 0) << "pods of a job that has ended";
    } else if (kube::bool_at(job, {"spec", "suspend"})) {
      EXPECT_EQ(state, "Suspended");
      EXPECT_EQ(gpus, 0) << "pods of a suspended job";
    } else if (state == "Running") {
      // A job whose minimum has grown trains on with what it has, and says so unless it keeps its first plan anyway.
      EXPECT_TRUE(gpus >= least || keeps_plan || reason_of(job, "Planned") != "Planned")
          << gpus << " of at least " << least;
      EXPECT_TRUE(gpus <= most + 1 || keeps_plan)
          << gpus << " of at most " << most << "; a pod has both GPUs of its node";
    } else {
      EXPECT_EQ(state, "Waiting");
      // Without a record nothing can be saved, so the pods keep the state until there is a plan.
      const bool may_save = job["spec"].contains("checkpoint") && !world_.api_server.find("jobrecords", name).is_null();
      EXPECT_TRUE(gpus == 0 || !may_save) << "pods of a waiting job";
      const bool lacks_quota = reason_of(job, "Planned") == "WaitingForQuota";
      EXPECT_TRUE(lacks_quota ? queue_.left() < least : free_gpus() < least || keeps_plan) << "there is room for it";
    }
  }

  static std::string reason_of(const Json& job, const std::string& type) {
    for (const Json& condition : kube::list_at(job, {"status", "conditions"})) {
      if (kube::text_at(condition, {"type"}) == type) return kube::text_at(condition, {"reason"});
    }
    return {};
  }

  static std::string conditions_of(const Json& job) {
    std::string text;
    for (const Json& condition : kube::list_at(job, {"status", "conditions"})) {
      text += fmt::format("{} {} {}: {}\n", kube::text_at(condition, {"type"}), kube::text_at(condition, {"status"}),
                          kube::text_at(condition, {"reason"}), kube::text_at(condition, {"message"}));
    }
    return text;
  }

  [[nodiscard]] int live_gpus_of(const std::string& job_uid) const {
    int gpus = 0;
    for (const Json& pod : world_.api_server.all("pods")) {
      if (is_live(pod) && kube::label_of(pod, kJobUidLabel) == job_uid) gpus += gpus_of_pod(pod);
    }
    return gpus;
  }

  [[nodiscard]] int free_gpus() const {
    int gpus = 0;
    for (const Json& node : world_.api_server.all("nodes")) {
      if (kube::list_at(node, {"spec", "taints"}).empty()) gpus += 2;
    }
    for (const Json& pod : world_.api_server.all("pods")) {
      const Json node = world_.api_server.find("nodes", node_of_pod(pod));
      if (is_live(pod) && !node.is_null() && kube::list_at(node, {"spec", "taints"}).empty()) gpus -= gpus_of_pod(pod);
    }
    return gpus;
  }

  World& world_;
  const LifeQueue& queue_;
  const std::function<std::string()> story_;
  std::map<std::string, std::string> ended_;  // the final state of a job, by its UID
  bool has_former_leader_written_ = false;
};

}  // namespace sailor::testing
