// The short messages: hints, lease questions and callback addresses are read as they are written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/protocol/claim.h"
#include "core/protocol/hint.h"
#include "core/protocol/lease.h"
#include "core/protocol/message.h"

namespace sailor {
namespace {

using ::testing::HasSubstr;

const JobKey kJob{"team", "opt"};

TEST(Hint, ReadsBackAsWritten) {
  const Hint hint{kJob, "uid", "pod-0", HintReason::kWorkerFailed, "the data is unreadable"};
  EXPECT_EQ(hint_from_json(to_json(hint)).value(), hint);
}

TEST(Hint, AnUnknownReasonIsRefusedWithTheKnownOnes) {
  auto json = to_json(Hint{kJob, "uid", "pod-0", HintReason::kFinished, ""});
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

TEST(FolderClaim, ReadsBackAsWritten) {
  const FolderClaim claim{kJob, "uid", "/checkpoints", 4, 3};
  EXPECT_EQ(folder_claim_from_json(to_json(claim)).value(), claim);
}

TEST(FolderClaim, WhatNoOperatorAsksIsRefusedByField) {
  const auto refusal = [](FolderClaim claim) {
    const auto read = folder_claim_from_json(to_json(claim));
    return read ? std::string("none") : read.error().message;
  };
  EXPECT_THAT(refusal({kJob, "uid", "", 4, 3}), HasSubstr("claim.path: must not be empty"));
  EXPECT_THAT(refusal({kJob, "uid", "/checkpoints", 4, 0}), HasSubstr("claim.olderGeneration: must be at least 1"));
  EXPECT_THAT(refusal({kJob, "uid", "/checkpoints", 3, 3}), HasSubstr("claim.generation: must be newer"));
  EXPECT_THAT(refusal({kJob, "../uid", "/checkpoints", 4, 3}), HasSubstr("parts of a path"));
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
