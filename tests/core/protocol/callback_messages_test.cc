// The short messages: hints, lease questions and callback addresses are read as they are written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/protocol/hint.h"
#include "core/protocol/lease.h"
#include "core/protocol/message.h"

namespace sailor {
namespace {

using ::testing::HasSubstr;

const JobKey kJob{"team", "opt"};

TEST(Hint, ReadsBackAsWritten) {
  const Hint hint{kJob, "pod-0", HintReason::kWorkerFailed, "the data is unreadable"};
  EXPECT_EQ(hint_from_json(to_json(hint)).value(), hint);
}

TEST(Hint, AnUnknownReasonIsRefusedWithTheKnownOnes) {
  auto json = to_json(Hint{kJob, "pod-0", HintReason::kFinished, ""});
  json["reason"] = "Bored";
  EXPECT_THAT(hint_from_json(json).error().message, HasSubstr("PeerLost, Terminating, WorkerFailed, Finished"));
}

TEST(LeaseQuestion, ReadsBackAsWritten) {
  const LeaseQuestion question{kJob, "uid", 3};
  EXPECT_EQ(lease_question_from_json(to_json(question)).value(), question);
}

TEST(LeaseQuestion, WithoutAJobUidIsRefused) {
  auto json = to_json(LeaseQuestion{kJob, "uid", 3});
  json.erase("jobUid");
  EXPECT_THAT(lease_question_from_json(json).error().message, HasSubstr("jobUid: is missing"));
}

TEST(CallbackAddress, ReadsBackAsWritten) {
  const CallbackAddress address{"http://10.0.0.1:8082"};
  EXPECT_EQ(callback_address_from_json(to_json(address)).value(), address);
}

TEST(Message, TextThatIsNotAnObjectIsRefusedByName) {
  for (const std::string text : {"", "[]", "{", "3"}) {
    EXPECT_THAT(read_message(text, "a hint").error().message, HasSubstr("reading a hint: it is not a JSON object"));
  }
}

TEST(Message, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(read_message(write_message({{"message", "\xff"}}), "a message").value()["message"], "\xEF\xBF\xBD");
}

}  // namespace
}  // namespace sailor
