// The Events of jobs: series and limits.
#include "operator/reconcile/event_sender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/operator/fake_api.h"

namespace sailor::testing {
namespace {

using ::testing::SizeIs;

class EventSenderTest : public ::testing::Test {
 protected:
  void post(const std::string& message, const std::string& job_uid = "u") {
    sender_.take({{"default", "job"}, job_uid}, {true, Reason::kWaitingForCapacity, message});
    sender_.flush();
  }
  [[nodiscard]] std::vector<Json> stored() const { return server_.all("events"); }

  FakeApi server_;
  kube::Api api_{server_};
  Time now_ = *parse_rfc3339("2026-01-01T00:00:00Z");
  EventSender sender_{api_, "test", [this] { return now_; }};
};

TEST_F(EventSenderTest, EventSaysWhatItIsAbout) {
  post("3 GPUs are too few");
  ASSERT_THAT(stored(), SizeIs(1));
  const Json event = stored()[0];
  EXPECT_EQ(event["note"], "3 GPUs are too few");
  EXPECT_EQ(event["type"], "Warning");
  EXPECT_EQ(event["regarding"]["name"], "job");
  EXPECT_FALSE(event.contains("series"));
}

TEST_F(EventSenderTest, RepeatedEventsAreOneSeries) {
  for (int i = 0; i < 100; ++i) post("3 GPUs are too few");
  ASSERT_THAT(stored(), SizeIs(1));
  EXPECT_EQ(stored()[0]["series"]["count"], 64) << "the count is written whenever it has doubled";
  EXPECT_EQ(server_.writes, 7);
}

TEST_F(EventSenderTest, SeriesEndsAfterSixMinutes) {
  post("3 GPUs are too few");
  now_ += std::chrono::minutes(7);
  post("3 GPUs are too few");
  EXPECT_THAT(stored(), SizeIs(2));
}

TEST_F(EventSenderTest, ChangingMessagesOfAJobAreLimited) {
  for (int i = 0; i < 100; ++i) post(std::to_string(i) + " GPUs are too few");
  EXPECT_THAT(stored(), SizeIs(10));
  now_ += std::chrono::minutes(3);
  for (int i = 0; i < 100; ++i) post(std::to_string(i) + " GPUs are too few");
  EXPECT_THAT(stored(), SizeIs(13));
}

TEST_F(EventSenderTest, EventsAreSentAfterTheClockWasSetBack) {
  post("3 GPUs are too few");
  now_ -= std::chrono::hours(5);
  post("4 GPUs are too few");
  post("3 GPUs are too few");
  EXPECT_THAT(stored(), SizeIs(3));
}

TEST_F(EventSenderTest, NoJobUsesTheAllowanceOfAnother) {
  for (int i = 0; i < 100; ++i) post(std::to_string(i) + " GPUs are too few", "loud");
  post("2 GPUs are too few", "quiet");
  EXPECT_THAT(stored(), SizeIs(11));
}

TEST_F(EventSenderTest, RefusedEventIsLost) {
  server_.next_answers = {{403, "{}", std::nullopt}};
  post("3 GPUs are too few");
  post("4 GPUs are too few");
  EXPECT_THAT(stored(), SizeIs(1));
}

}  // namespace
}  // namespace sailor::testing
