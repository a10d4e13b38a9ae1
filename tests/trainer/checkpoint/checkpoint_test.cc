#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/trainer/support/assignments.h"
#include "trainer/checkpoint/folders.h"
#include "trainer/checkpoint/writer.h"

namespace sailor::trainer {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
namespace fs = std::filesystem;

SavedShard a_saved_shard(int layer_state) {
  return {.layer_state = layer_state,
          .writer = 2,
          .slices = {{0, 4, 6}, {1, 0, 1}},
          .weights = {1, 2, 3},
          .momentum = {4, 5, 6},
          .variance = {7, 8, 9}};
}

Manifest a_manifest(std::int64_t step) { return {step, 5.5, testing::tiny_model(), {{0, 2}, {1, 2}}}; }

void save(const fs::path& folder, std::int64_t step) {
  for (const int layer_state : {0, 1})
    ASSERT_TRUE(write_shard_file(step_folder(folder, step), step, a_saved_shard(layer_state)));
  ASSERT_TRUE(write_manifest(step_folder(folder, step), a_manifest(step)));
}

TEST(Checkpoint, IsReadAsItWasWritten) {
  const testing::Scratch scratch;
  save(scratch.folder(), 12);
  const auto saved = read_shard_file(step_folder(scratch.folder(), 12), 12, {1, 2});
  ASSERT_TRUE(saved);
  EXPECT_EQ(saved->slices, a_saved_shard(1).slices);
  EXPECT_EQ(read_slices(step_folder(scratch.folder(), 12), {1, 2}).value(), a_saved_shard(1).slices);
  EXPECT_EQ(saved->weights, a_saved_shard(1).weights);
  EXPECT_EQ(saved->momentum, a_saved_shard(1).momentum);
  EXPECT_EQ(saved->variance, a_saved_shard(1).variance);
  const auto manifest = read_manifest(step_folder(scratch.folder(), 12));
  ASSERT_TRUE(manifest);
  EXPECT_EQ(manifest->model, testing::tiny_model());
  EXPECT_EQ(manifest->first_loss, 5.5);
  EXPECT_EQ(manifest->files, a_manifest(12).files);
}

TEST(Checkpoint, OfANewerFormatIsNotReadAsIfItWereOfThisOne) {
  const testing::Scratch scratch;
  save(scratch.folder(), 12);
  const fs::path file = step_folder(scratch.folder(), 12) / "manifest.json";
  auto manifest = nlohmann::json::parse(std::ifstream(file));
  manifest["format"] = 3;
  std::ofstream(file) << manifest;
  EXPECT_THAT(read_manifest(step_folder(scratch.folder(), 12)).error().message,
              HasSubstr("manifest.format: 3 is not 2, the format that this trainer reads"));
}

TEST(Checkpoint, InTheFolderOfAnotherStepIsNotRead) {
  const testing::Scratch scratch;
  save(scratch.folder(), 12);
  fs::rename(step_folder(scratch.folder(), 12), step_folder(scratch.folder(), 40));
  const auto manifest = read_manifest(step_folder(scratch.folder(), 40));
  ASSERT_FALSE(manifest);
  EXPECT_THAT(manifest.error().message, HasSubstr("manifest.step: 12 is not the step in the name of its folder"));
}

// Files of others may be in use. A process that is killed leaves its file.
TEST(CheckpointFolder, IsTriedWithoutKeepingTheFilesOfTriesThatWereKilled) {
  const testing::Scratch scratch;
  const fs::path abandoned = scratch.folder() / "try-0123456789abcdef.part";
  const fs::path in_use = scratch.folder() / "try-fedcba9876543210.part";
  for (const fs::path& file : {abandoned, in_use}) std::ofstream(file) << "Sailor tries";
  fs::last_write_time(abandoned, fs::last_write_time(abandoned) - std::chrono::hours(24));
  ASSERT_TRUE(try_to_write(scratch.folder()));
  EXPECT_FALSE(fs::exists(abandoned));
  EXPECT_TRUE(fs::exists(in_use));
}

TEST(Checkpoint, IsFoundInEveryRunOfTheNameTheNewestRunFirst) {
  const testing::Scratch scratch;
  const JobKey job{"default", "first"};
  const fs::path runs = runs_folder(scratch.folder().string(), job);
  for (const int step : {4, 8}) save(runs / "older", step);
  save(runs / "newer", 2);
  save(runs / "own", 6);
  const fs::path oldest = step_folder(runs / "older", 8) / "manifest.json";
  fs::last_write_time(oldest, fs::last_write_time(oldest) - std::chrono::hours(1));
  EXPECT_THAT(checkpoints_of_runs(scratch.folder().string(), job, "own"),
              ElementsAre(ElementsAre(step_folder(runs / "newer", 2)),
                          ElementsAre(step_folder(runs / "older", 8), step_folder(runs / "older", 4))));
}

TEST(Checkpoint, IsCompleteOnlyWithAManifestWhichRequiresEveryFile) {
  const testing::Scratch scratch;
  save(scratch.folder(), 4);
  const fs::path newer = step_folder(scratch.folder(), 8);
  EXPECT_THAT(complete_checkpoints(scratch.folder()), ElementsAre(4));
  ASSERT_TRUE(write_shard_file(newer, 8, a_saved_shard(0)));
  EXPECT_THAT(complete_checkpoints(scratch.folder()), ElementsAre(4));
  EXPECT_THAT(write_manifest(newer, a_manifest(8)).error().message, HasSubstr("layer state 1"));
  std::ofstream(newer / "manifest.json.part") << "half a man";
  EXPECT_THAT(complete_checkpoints(scratch.folder()), ElementsAre(4));
  ASSERT_TRUE(write_shard_file(newer, 8, a_saved_shard(1)));
  ASSERT_TRUE(write_manifest(newer, a_manifest(8)));
  EXPECT_THAT(complete_checkpoints(scratch.folder()), ElementsAre(8, 4));
}

TEST(Checkpoint, DetectsEveryTruncationAndEveryFlippedByte) {
  const testing::Scratch scratch;
  const fs::path folder = step_folder(scratch.folder(), 1);
  ASSERT_TRUE(write_shard_file(folder, 1, a_saved_shard(0)));
  const fs::path file = folder / "piece-000-02.bin";
  std::ifstream stream(file, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(stream)), {});
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << whole.substr(0, i);
    EXPECT_FALSE(read_shard_file(folder, 1, {0, 2})) << "cut at " << i;
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ 1);
    std::ofstream(file, std::ios::binary | std::ios::trunc) << flipped;
    EXPECT_FALSE(read_shard_file(folder, 1, {0, 2})) << "flipped at " << i;
  }
  std::ofstream(file, std::ios::binary | std::ios::trunc) << whole;
  EXPECT_TRUE(read_shard_file(folder, 1, {0, 2}));
  EXPECT_FALSE(read_shard_file(folder, 2, {0, 2}));  // of another step
}

TEST(Checkpoint, OnlyTheNewestAreKeptAndIncompleteOnesAreDeleted) {
  const testing::Scratch scratch;
  for (const std::int64_t step : {2, 4, 6}) save(scratch.folder(), step);
  ASSERT_TRUE(write_shard_file(step_folder(scratch.folder(), 5), 5, a_saved_shard(0)));  // given up
  ASSERT_TRUE(write_shard_file(step_folder(scratch.folder(), 8), 8, a_saved_shard(0)));  // being written
  delete_old_checkpoints(scratch.folder(), 2);
  EXPECT_THAT(complete_checkpoints(scratch.folder()), ElementsAre(6, 4));
  EXPECT_FALSE(fs::exists(step_folder(scratch.folder(), 2)));
  EXPECT_FALSE(fs::exists(step_folder(scratch.folder(), 5)));
  EXPECT_TRUE(fs::exists(step_folder(scratch.folder(), 8)));
}

TEST(Checkpoint, AMissingFolderHasNoCheckpoints) {
  EXPECT_THAT(complete_checkpoints("/nonexistent/checkpoints"), IsEmpty());
}

TEST(CheckpointWriter, ANewCheckpointStillCompletesTheLastOneAndDeletesIncompleteOnes) {
  const testing::Scratch scratch;
  ASSERT_TRUE(write_shard_file(step_folder(scratch.folder(), 1), 1, a_saved_shard(0)));  // never completed
  CheckpointWriter writer;
  writer.save(scratch.folder(), 2, {a_saved_shard(0), a_saved_shard(1)}, false);
  ASSERT_TRUE(writer.wait_until_idle(std::chrono::seconds(60)));
  writer.complete(scratch.folder(), a_manifest(2), 1);
  writer.save(scratch.folder(), 3, {a_saved_shard(0), a_saved_shard(1)}, true);
  ASSERT_TRUE(writer.wait_until_idle(std::chrono::seconds(60)));
  EXPECT_THAT(complete_checkpoints(scratch.folder()), ElementsAre(2));
  EXPECT_FALSE(fs::exists(step_folder(scratch.folder(), 1)));
  EXPECT_EQ(writer.saved_shards(3), 2);
}

// The file that is written first is a pipe that nobody reads yet.
TEST(CheckpointWriter, TrainingContinuesWhileTheDiskIsBusy) {
  const testing::Scratch scratch;
  const fs::path pipe = step_folder(scratch.folder(), 3) / "piece-000-02.bin.part";
  fs::create_directories(pipe.parent_path());
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  CheckpointWriter writer;
  writer.save(scratch.folder(), 3, {a_saved_shard(0), a_saved_shard(1)}, false);  // returns
  EXPECT_FALSE(writer.wait_until_idle(std::chrono::milliseconds(1)));
  EXPECT_EQ(writer.saved_shards(3), 0);
  std::ifstream reader(pipe, std::ios::binary);
  const std::string written((std::istreambuf_iterator<char>(reader)), {});
  EXPECT_GT(written.size(), 9 * sizeof(float));
  ASSERT_TRUE(writer.wait_until_idle(std::chrono::seconds(60)));
  EXPECT_EQ(writer.saved_shards(3), 1) << "a pipe cannot be flushed: that layer state is not saved, the other is";
}

// Each file of each later checkpoint fails for the same reason, so the log need not repeat it.
TEST(CheckpointWriter, LogsTheFirstErrorSinceACheckpointSucceeded) {
  const testing::Scratch scratch;
  CheckpointWriter writer;
  ::testing::internal::CaptureStderr();
  for (const fs::path& folder :
       {fs::path("/dev/full/a"), fs::path("/dev/full/b"), scratch.folder(), fs::path("/dev/full/c")}) {
    writer.save(folder, 6, {a_saved_shard(0)}, false);
    ASSERT_TRUE(writer.wait_until_idle(std::chrono::seconds(60)));
  }
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, AllOf(HasSubstr("/dev/full/a"), Not(HasSubstr("/dev/full/b")), HasSubstr("/dev/full/c")));
}

TEST(CheckpointWriter, CountsWrittenFilesAndReportsErrors) {
  const testing::Scratch scratch;
  CheckpointWriter writer;
  writer.save(scratch.folder(), 3, {a_saved_shard(0), a_saved_shard(1)}, true);
  ASSERT_TRUE(writer.wait_until_idle(std::chrono::seconds(60)));
  EXPECT_EQ(writer.saved_shards(3), 2);
  EXPECT_EQ(writer.saved_shards(4), 0);
  writer.complete(scratch.folder(), a_manifest(3), 1);
  ASSERT_TRUE(writer.wait_until_idle(std::chrono::seconds(60)));
  EXPECT_EQ(writer.last_complete(), 3);
  EXPECT_EQ(writer.last_error(), "");
  writer.save("/dev/full/checkpoints", 6, {a_saved_shard(0)}, true);
  ASSERT_TRUE(writer.wait_until_idle(std::chrono::seconds(60)));
  EXPECT_EQ(writer.saved_shards(6), 0);
  EXPECT_THAT(writer.last_error(), HasSubstr("/dev/full/checkpoints"));
  EXPECT_EQ(writer.last_complete(), 3);
}

}  // namespace
}  // namespace sailor::trainer
