// Tests which profile of the book a job uses.
#include "core/model/profile.h"

#include <gtest/gtest.h>

namespace sailor {
namespace {

const Accelerator kGpu("nvidia-l4");

ModelProfile a_profile(SequenceParallelism how, const std::string& source) {
  return {.model = "tiny",
          .accelerator = kGpu,
          .precision = Precision::kFp32,
          .sequence_length = 128,
          .sequence_parallelism = how,
          .times = {},
          .memory = {},
          .source = source};
}

JobSpec a_job(SequenceParallelism wish) {
  JobSpec job;
  job.model.name = "tiny";
  job.training.sequence_length = 128;
  job.training.sequence_parallelism = wish;
  return job;
}

constexpr auto kNever = SequenceParallelism::kNever;
constexpr auto kAlways = SequenceParallelism::kAlways;

TEST(ProfileBook, AJobWithSequenceParallelismPrefersAProfileThatWasMeasuredWithIt) {
  ProfileBook book;
  book.add(a_profile(kNever, "without"));
  EXPECT_EQ(book.find(a_job(kAlways), kGpu)->source, "without");
  book.add(a_profile(kAlways, "with"));
  EXPECT_EQ(book.find(a_job(kAlways), kGpu)->source, "with");
  EXPECT_EQ(book.find(a_job(kNever), kGpu)->source, "without");
}

TEST(ProfileBook, AJobWithoutSequenceParallelismNeverUsesAProfileThatWasMeasuredWithIt) {
  ProfileBook book;
  book.add(a_profile(kAlways, "with"));
  EXPECT_EQ(book.find(a_job(kNever), kGpu), nullptr);
}

TEST(ProfileBook, ALaterProfileOfTheSameKindReplacesTheEarlierOne) {
  ProfileBook book;
  for (const char* source : {"first", "second"}) book.add(a_profile(kAlways, source));
  ASSERT_EQ(book.profiles().size(), 1U);
  EXPECT_EQ(book.profiles().front().source, "second");
}

}  // namespace
}  // namespace sailor
