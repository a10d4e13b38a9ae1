#include "core/log/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sailor {
namespace {

using ::testing::EndsWith;

// 2026-11-22, 20:15:07.042 UTC.
const std::chrono::system_clock::time_point kTime{std::chrono::milliseconds(1'795'378'507'042)};

std::string line(std::string_view message, LogFields fields) {
  return log_line({kTime, LogLevel::kWarning, "worker-3", message}, fields);
}

TEST(Log, ALineHasTimeLevelProcessMessageAndFields) {
  EXPECT_EQ(line("lost", {{"peer", "pod-1"}, {"step", "12"}}),
            "time=2026-11-22T20:15:07.042Z level=warning process=worker-3 msg=lost peer=pod-1 step=12\n");
}

TEST(Log, ValuesThatWouldBreakTheFormatOfALineAreQuoted) {
  EXPECT_THAT(line("peer lost", {{"why", "it said \"no\"=\\"}, {"where", ""}}),
              EndsWith(" msg=\"peer lost\" why=\"it said \\\"no\\\"=\\\\\" where=\"\"\n"));
}

TEST(Log, LineEndsAndControlCharactersAreEscaped) {
  EXPECT_THAT(line("m", {{"why", "one\ntwo\x1b"}}), EndsWith(" why=\"one\\ntwo\\x1b\"\n"));
}

TEST(Log, KnowsTheLevelsOfTheCommandLine) {
  EXPECT_EQ(parse_log_level("warn"), LogLevel::kWarning);
  EXPECT_EQ(parse_log_level("trace"), LogLevel::kDebug);
  EXPECT_EQ(parse_log_level("loud"), std::nullopt);
}

TEST(Log, EventsBelowTheLevelAreNotWritten) {
  ::testing::internal::CaptureStderr();
  start_log("test", LogLevel::kWarning);
  log_info("left out");
  log_error("written");
  start_log("test");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), EndsWith("level=error process=test msg=written\n"));
}

}  // namespace
}  // namespace sailor
