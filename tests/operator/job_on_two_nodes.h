// The job that most tests of the operator are about: a world with two nodes, and the job on both.
#pragma once

#include <utility>

#include <gtest/gtest.h>

#include "tests/operator/world.h"

namespace sailor::testing {

// World refers to itself through its operator, so tests make it in place.
class JobOnTwoNodes : public ::testing::Test {
 protected:
  void start(Json spec_changes = Json::object()) {
    world.add_node("a", 2);
    world.add_node("b", 1);
    world.add_job(std::move(spec_changes));
    world.settle();
  }
  World world;
};

}  // namespace sailor::testing
