// What a new operator does with jobs that another one has left.
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/operator/competing_jobs.h"

namespace sailor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class NewOperator : public CompetingJobs {
 protected:
  // A job that trains on all GPUs, and all kinds of jobs that wait.
  void add_all_kinds() {
    add_nodes({"a", "b"});
    run("released", "low", 4, 4);
    run("trains", "high", 4, 4);
    add_job("waits", "low", 4);
    world.infeasible_jobs = {"impossible"};
    add_job("impossible", "");
    settle_later();
  }
  // What users and scripts see of a job, without words and progress.
  std::string shown(const std::string& name) {
    select(name);
    const Json status = world.status();
    std::string text = world.state() + " " + kube::text_at(status, {"reason"});
    for (const Json& condition : kube::list_at(status, {"conditions"}))
      text += " " + kube::text_at(condition, {"status"}) + " " + kube::text_at(condition, {"reason"});
    return text;
  }
  void look_at(const std::string& name) {
    select(name);
    world.reconcile();
  }
};

TEST_F(NewOperator, ChangesNoStatusOfAJobThatGoesOnAsBefore) {
  add_all_kinds();
  std::map<std::string, std::string> before;
  for (const char* name : {"released", "trains", "waits", "impossible"}) before[name] = shown(name);
  ASSERT_EQ(state_of("trains"), "Running");
  for (const char* name : {"released", "waits", "impossible"}) ASSERT_EQ(state_of(name), "Waiting") << name;
  world.restart_operator();
  for (int i = 0; i < 12; ++i) {
    for (const auto& [name, said] : before) {
      look_at(name);
      EXPECT_EQ(shown(name), said) << name;
    }
    world.live();
  }
}

TEST_F(NewOperator, GivesGpusThatBecameFreeToTheJobThatComesFirst) {
  add_nodes({"a"});
  run("trains", "high", 2, 2);
  add_job("first", "low", 2, 2);
  add_job("second", "low", 2, 2);
  settle_later();
  select("trains");
  world.collect_garbage();
  world.delete_job();
  world.restart_operator();
  for (int i = 0; i < 3; ++i) look_at("second");
  world.settle_all_jobs();
  EXPECT_EQ(state_of("first"), "Running");
  EXPECT_EQ(state_of("second"), "Waiting");
}

TEST_F(NewOperator, LooksAgainAtJobsThatWaitedForItsDecisionAboutAnotherOne) {
  add_nodes({"a", "b"});
  run("trains", "high", 2, 2);
  add_job("first", "low", 4, 4);
  add_job("second", "low", 3, 3);
  settle_later();
  world.restart_operator();
  look_at("second");
  EXPECT_THAT(world.woken, IsEmpty());
  look_at("first");
  EXPECT_THAT(world.woken, IsEmpty()) << "the planner has not answered yet";
  look_at("first");
  EXPECT_THAT(world.woken, ElementsAre(JobKey{"default", "second"}));
  look_at("first");
  EXPECT_THAT(world.woken, IsEmpty()) << "nobody waits for it any more";
}

}  // namespace
}  // namespace sailor::testing
