#include "trainer/step/activation_resharding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sailor::trainer {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

TEST(ReshardMessages, SendersThatHaveTheWholeTensorTakeTurns) {
  EXPECT_THAT(reshard_messages(12, 2, 3, false),
              ElementsAre(ReshardMessage{0, 0, {0, 4}}, ReshardMessage{1, 1, {4, 8}}, ReshardMessage{0, 2, {8, 12}}));
  EXPECT_THAT(reshard_messages(12, 2, 1, false), ElementsAre(ReshardMessage{0, 0, {0, 12}}));
}

TEST(ReshardMessages, WithSequenceParallelismWorkersOfEqualGroupsSendToTheirCounterparts) {
  EXPECT_THAT(reshard_messages(12, 2, 2, true),
              ElementsAre(ReshardMessage{0, 0, {0, 6}}, ReshardMessage{1, 1, {6, 12}}));
}

TEST(ReshardMessages, WithSequenceParallelismEachReceiverGetsItsIntervalFromItsOwners) {
  EXPECT_THAT(reshard_messages(12, 2, 1, true),
              ElementsAre(ReshardMessage{0, 0, {0, 6}}, ReshardMessage{1, 0, {6, 12}}));
  EXPECT_THAT(reshard_messages(12, 2, 3, true),
              ElementsAre(ReshardMessage{0, 0, {0, 4}}, ReshardMessage{0, 1, {4, 6}}, ReshardMessage{1, 1, {6, 8}},
                          ReshardMessage{1, 2, {8, 12}}));
}

TEST(ReshardMessages, CarryEveryElementOnceBetweenGroupsOfAnySizes) {
  for (const std::int64_t elements : {1, 7, 24}) {
    for (const bool is_sequence_parallel : {false, true}) {
      for (int senders = 1; senders <= 4; ++senders) {
        for (int receivers = 1; receivers <= 4; ++receivers) {
          std::vector<int> times(static_cast<std::size_t>(elements));
          for (const ReshardMessage& message : reshard_messages(elements, senders, receivers, is_sequence_parallel)) {
            for (std::int64_t i = message.interval.begin; i < message.interval.end; ++i) {
              ++times[static_cast<std::size_t>(i)];
            }
          }
          EXPECT_THAT(times, Each(1)) << elements << " elements, " << senders << " to " << receivers;
        }
      }
    }
  }
}

}  // namespace
}  // namespace sailor::trainer
