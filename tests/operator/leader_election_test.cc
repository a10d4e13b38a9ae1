// One leader at a time, whoever is slow, paused or gone.
#include "operator/leader/leader_election.h"

#include <gtest/gtest.h>

#include "tests/operator/fake_api.h"

namespace sailor {
namespace {

using testing::FakeApi;

class Leadership : public ::testing::Test {
 protected:
  LeaderElection candidate(const char* identity, const char* pod = "") {
    return {
        api, {.namespace_name = "default", .identity = identity, .pod = pod}, {system_time, [this] { return now; }}};
  }
  void pass(std::chrono::seconds time) { now += time; }

  FakeApi server;
  kube::Api api{server};
  LeaderElection::Instant now = std::chrono::steady_clock::now();
};

TEST_F(Leadership, GoesToTheFirstAndNotToTheSecond) {
  auto first = candidate("first");
  auto second = candidate("second");
  EXPECT_FALSE(first.may_write());
  EXPECT_TRUE(first.try_once());
  EXPECT_TRUE(first.may_write());
  EXPECT_FALSE(second.try_once());
  EXPECT_FALSE(second.may_write());
}

TEST_F(Leadership, PassesOnWhenTheLeaseWasNotRenewedForItsDuration) {
  auto first = candidate("first");
  auto second = candidate("second");
  first.try_once();
  second.try_once();
  pass(std::chrono::seconds(14));
  EXPECT_FALSE(second.try_once()) << "15 s have not passed since it saw the lease change";
  pass(std::chrono::seconds(2));
  EXPECT_TRUE(second.try_once());
  EXPECT_FALSE(first.may_write()) << "a leader that was paused finds out before it writes";
  EXPECT_FALSE(first.try_once());
}

TEST_F(Leadership, StaysWithOneThatRenews) {
  auto first = candidate("first");
  auto second = candidate("second");
  first.try_once();
  for (int i = 0; i < 20; ++i) {
    pass(std::chrono::seconds(2));
    EXPECT_TRUE(first.try_once());
    EXPECT_FALSE(second.try_once());
  }
}

TEST_F(Leadership, IsFreeAtOnceAfterARelease) {
  auto first = candidate("first");
  auto second = candidate("second");
  first.try_once();
  first.release();
  EXPECT_FALSE(first.may_write());
  EXPECT_TRUE(second.try_once());
}

TEST_F(Leadership, PassesAtOnceToTheNextProcessOfTheSamePod) {
  auto killed = candidate("sailor-1_a", "sailor-1");
  auto replica = candidate("sailor-11_b", "sailor-11");
  auto restarted = candidate("sailor-1_c", "sailor-1");
  killed.try_once();
  EXPECT_FALSE(replica.try_once());
  EXPECT_TRUE(restarted.try_once());
  EXPECT_FALSE(replica.try_once());
}

TEST_F(Leadership, DoesNotPassToAProcessOfTheSameNameOutsideOfAPod) {
  auto first = candidate("host_a");
  auto second = candidate("host_b");
  first.try_once();
  EXPECT_FALSE(second.try_once());
}

TEST_F(Leadership, EndsBeforeTheLeaseDoesIfItCannotBeRenewed) {
  auto first = candidate("first");
  first.try_once();
  pass(std::chrono::seconds(11));
  EXPECT_FALSE(first.may_write()) << "others may take it after 15 s: we are out after 10";
}

}  // namespace
}  // namespace sailor
