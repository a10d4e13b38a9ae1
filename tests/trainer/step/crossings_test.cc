#include "trainer/step/crossings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sailor::trainer {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

TEST(Crossings, SendersThatHaveTheWholeTensorTakeTurns) {
  EXPECT_THAT(crossings(12, 2, 3, false),
              ElementsAre(Crossing{0, 0, {0, 4}}, Crossing{1, 1, {4, 8}}, Crossing{0, 2, {8, 12}}));
  EXPECT_THAT(crossings(12, 2, 1, false), ElementsAre(Crossing{0, 0, {0, 12}}));
}

TEST(Crossings, OfADealtTensorBetweenEqualDegreesEachSendsItsShareToItsLike) {
  EXPECT_THAT(crossings(12, 2, 2, true), ElementsAre(Crossing{0, 0, {0, 6}}, Crossing{1, 1, {6, 12}}));
}

TEST(Crossings, OfADealtTensorEachReceiverGetsItsShareFromWhoeverHasIt) {
  EXPECT_THAT(crossings(12, 2, 1, true), ElementsAre(Crossing{0, 0, {0, 6}}, Crossing{1, 0, {6, 12}}));
  EXPECT_THAT(crossings(12, 2, 3, true), ElementsAre(Crossing{0, 0, {0, 4}}, Crossing{0, 1, {4, 6}},
                                                     Crossing{1, 1, {6, 8}}, Crossing{1, 2, {8, 12}}));
}

TEST(Crossings, BringEveryElementOnceWhateverTheDegrees) {
  for (const std::int64_t elements : {1, 7, 24}) {
    for (const bool is_dealt : {false, true}) {
      for (int senders = 1; senders <= 4; ++senders) {
        for (int receivers = 1; receivers <= 4; ++receivers) {
          std::vector<int> times(static_cast<std::size_t>(elements));
          for (const Crossing& crossing : crossings(elements, senders, receivers, is_dealt)) {
            for (std::int64_t i = crossing.stretch.begin; i < crossing.stretch.end; ++i) {
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
