// A world in which several jobs want the same GPUs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/operator/world.h"

namespace sailor::testing {

class CompetingJobs : public ::testing::Test {
 protected:
  CompetingJobs() {
    world.add_priority_class("low", 10);
    world.add_priority_class("high", 1000);
    world.marks_kept_plans = true;
  }
  void add_nodes(const std::vector<std::string>& names) {
    for (const std::string& name : names) world.add_node(name, 2);
  }
  // Adds a job a second after the last one.
  void add_job(const std::string& name, const std::string& priority_class, int min_gpus = 1,
               std::optional<int> max_gpus = std::nullopt) {
    world.pass(std::chrono::seconds(1));
    Json spec = {{"resources", {{"minGpus", min_gpus}}}};
    if (max_gpus) spec["resources"]["maxGpus"] = *max_gpus;
    if (!priority_class.empty()) spec["priorityClassName"] = priority_class;
    select(name);
    world.add_job(spec);
  }
  void select(const std::string& name) { world.job = {"default", name}; }
  void run(const std::string& name, const std::string& priority_class, int min_gpus = 1,
           std::optional<int> max_gpus = std::nullopt) {
    add_job(name, priority_class, min_gpus, max_gpus);
    world.settle_all_jobs();
    ASSERT_EQ(state_of(name), "Running");
  }
  // Time passes until jobs may change voluntarily, and they settle.
  void settle_later() {
    world.pass(std::chrono::seconds(15));
    world.settle_all_jobs();
  }
  std::string state_of(const std::string& name) {
    select(name);
    return world.state();
  }
  std::string planned(const std::string& name) {
    select(name);
    return world.condition("Planned");
  }
  World world;
};

}  // namespace sailor::testing
