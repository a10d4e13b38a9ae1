#include "trainer/elastic/control/assignment_mailbox.h"

#include <vector>

#include <gtest/gtest.h>

namespace sailor::trainer {
namespace {

Lease lease_of(std::int64_t generation, std::chrono::seconds length) {
  return granted(generation, BootClock::now(), length);
}

TEST(AssignmentMailbox, KeepsTheLeaseOfTheRunningGenerationWhenTheNextGetsOne) {
  AssignmentMailbox mailbox;
  mailbox.renew(lease_of(1, std::chrono::seconds(60)));
  mailbox.renew(lease_of(2, std::chrono::seconds(60)));
  EXPECT_TRUE(mailbox.has_lease(1));
  EXPECT_TRUE(mailbox.has_lease(2));
  EXPECT_FALSE(mailbox.has_lease(3));
}

TEST(AssignmentMailbox, UsesTheLastLeaseOfAGeneration) {
  AssignmentMailbox mailbox;
  mailbox.renew(lease_of(1, std::chrono::seconds(60)));
  mailbox.renew(lease_of(1, std::chrono::seconds(0)));
  EXPECT_FALSE(mailbox.has_lease(1));
}

TEST(AssignmentMailbox, IgnoresALapsedLeaseWhenAnotherIsRenewed) {
  AssignmentMailbox mailbox;
  mailbox.renew(lease_of(1, std::chrono::seconds(-1)));
  EXPECT_FALSE(mailbox.has_lease(1));
  mailbox.renew(lease_of(2, std::chrono::seconds(60)));
  EXPECT_FALSE(mailbox.has_lease(1));
}

TEST(AssignmentMailbox, TellsItsListenerOfNewerAssignmentsUntilItStops) {
  AssignmentMailbox mailbox;
  std::vector<std::int64_t> heard;
  const auto put = [&](std::int64_t generation) {
    Assignment assignment;
    assignment.generation = generation;
    mailbox.put(assignment);
  };
  put(2);
  mailbox.listen_for_newer_than(2, [&](const Assignment& newer) { heard.push_back(newer.generation); });
  put(2);
  put(3);
  put(5);
  mailbox.stop_listening();
  put(6);
  EXPECT_EQ(heard, (std::vector<std::int64_t>{3, 5}));
  mailbox.listen_for_newer_than(5, [&](const Assignment& newer) { heard.push_back(newer.generation); });
  EXPECT_EQ(heard.back(), 6) << "one that is here already";
}

}  // namespace
}  // namespace sailor::trainer
