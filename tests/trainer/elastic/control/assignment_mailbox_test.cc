#include "trainer/elastic/control/assignment_mailbox.h"

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

}  // namespace
}  // namespace sailor::trainer
