#include "trainer/comm/interrupt.h"

#include <latch>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/comm/cannot_communicate.h"
#include "trainer/comm/communication_error.h"

namespace sailor::trainer {
namespace {

using ::testing::StrEq;
using ::testing::ThrowsMessage;

TEST(Interrupt, ByANewerGenerationNamesTheExchangeThatItEnds) {
  Interrupt interrupt;
  EXPECT_NO_THROW(interrupt.check("sending to pod-b"));
  interrupt.raise();
  EXPECT_THAT([&] { interrupt.check("sending to pod-b"); },
              ThrowsMessage<CommunicationError>(StrEq("sending to pod-b: a newer generation has ended this one")));
}

TEST(Interrupt, ByAFailureThrowsIt) {
  Interrupt interrupt;
  interrupt.raise(std::make_exception_ptr(CannotCommunicate("out of memory")));
  EXPECT_THAT([&] { interrupt.check("sending to pod-b"); }, ThrowsMessage<CannotCommunicate>(StrEq("out of memory")));
}

TEST(Interrupt, KeepsItsFirstCause) {
  Interrupt interrupt;
  interrupt.raise();
  interrupt.raise(std::make_exception_ptr(CannotCommunicate("a consequence of the abort")));
  EXPECT_THROW(interrupt.check(), CommunicationError);
}

TEST(Interrupt, IsRaisedBeforeTheFirstGroupIsAborted) {
  Interrupt interrupt;
  std::latch is_aborted(1);
  bool was_raised = false;
  interrupt.add(&interrupt, [&] {
    was_raised = interrupt.is_raised();
    is_aborted.count_down();
  });
  interrupt.raise();
  is_aborted.wait();
  EXPECT_TRUE(was_raised);
  interrupt.remove(&interrupt);
}

TEST(Interrupt, AbortsAllGroupsThoughAnAbortThrows) {
  Interrupt interrupt;
  std::latch aborted(3);
  const int groups[3] = {};
  const auto abort = [&] {
    aborted.count_down();
    throw std::runtime_error("the abort failed");
  };
  interrupt.add(&groups[0], abort);
  interrupt.add(&groups[1], abort);
  interrupt.raise();
  interrupt.add(&groups[2], abort);  // a group that is made too late
  aborted.wait();
  for (const int& group : groups) interrupt.remove(&group);
}

}  // namespace
}  // namespace sailor::trainer
