// A writer that is killed at any of its system calls, and disks that are full.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/trainer/support/assignments.h"
#include "trainer/checkpoint/folders.h"
#include "trainer/checkpoint/writer.h"

namespace sailor::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

SavedShard a_saved_shard(int layer_state, float value) {
  const std::vector<float> values(64, value);
  return {.layer_state = layer_state,
          .writer = 0,
          .slices = {{0, 0, 64}},
          .weights = values,
          .momentum = values,
          .variance = values};
}

Manifest a_manifest(std::int64_t step) { return {step, 5.5, testing::tiny_model(), {{0, 0}, {1, 0}}}; }

bool save(const fs::path& folder, std::int64_t step) {
  const fs::path files = step_folder(folder, step);
  for (const int layer_state : {0, 1}) {
    if (!write_shard_file(files, step, a_saved_shard(layer_state, static_cast<float>(step)))) return false;
  }
  if (!write_manifest(files, a_manifest(step))) return false;
  delete_old_checkpoints(folder, 1);
  return true;
}

// Runs `work` in a process that is killed when it enters or leaves its system call number `deadly`; returns whether it
// lived long enough to be killed. Nothing of the process's memory survives, as after a crash of the node.
template <class Work>
bool killed_at_call(int deadly, Work work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::raise(SIGSTOP);
    work();
    ::_exit(0);
  }
  int status = 0;
  for (int call = 0; ::waitpid(child, &status, 0) == child && WIFSTOPPED(status); ++call) {
    if (call == deadly) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      return true;
    }
    ::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
  }
  return false;
}

bool can_trace() {
  return killed_at_call(1, [] { (void)::getppid(); });
}

// Every file of the newest complete checkpoint must be complete, and of that step.
void expect_a_whole_checkpoint(const fs::path& folder, int call) {
  const auto steps = complete_checkpoints(folder);
  ASSERT_FALSE(steps.empty()) << "killed at call " << call;
  const std::int64_t step = steps.front();
  const auto manifest = read_manifest(step_folder(folder, step));
  ASSERT_TRUE(manifest) << "killed at call " << call << ": " << manifest.error().message;
  for (const ShardFileName& name : manifest->files) {
    const auto saved = read_shard_file(step_folder(folder, step), step, name);
    ASSERT_TRUE(saved) << "killed at call " << call << ": " << saved.error().message;
    EXPECT_EQ(saved->weights, a_saved_shard(name.layer_state, static_cast<float>(step)).weights);
  }
}

TEST(CheckpointCrash, AfterAKillAtAnySystemCallTheNewestCompleteCheckpointIsIntactAndTheNextSucceeds) {
  if (!can_trace()) GTEST_SKIP() << "this machine does not let a process trace its child";
  int calls = 0;
  for (bool was_killed = true; was_killed; ++calls) {
    const testing::Scratch scratch;
    const fs::path folder = scratch.folder() / "checkpoints";
    ASSERT_TRUE(save(folder, 2));
    was_killed = killed_at_call(calls, [&] { (void)save(folder, 4); });
    expect_a_whole_checkpoint(folder, calls);
    ASSERT_TRUE(save(folder, 6)) << "killed at call " << calls;
    EXPECT_THAT(complete_checkpoints(folder), ElementsAre(6)) << "killed at call " << calls;
    EXPECT_FALSE(fs::exists(step_folder(folder, 4))) << "killed at call " << calls;
  }
  EXPECT_GT(calls, 40) << "as many calls as three files and a deletion need";
}

// Files may not grow beyond so many bytes: what a full disk does to a writer, without one.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t most) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{most, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SmallFiles() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

 private:
  rlimit before_{};
  sighandler_t handler_ = nullptr;
};

TEST(CheckpointWriter, AFullDiskIsReportedLeavesNothingBehindAndTheNextCheckpointSucceeds) {
  const testing::Scratch scratch;
  const fs::path folder = scratch.folder() / "checkpoints";
  ASSERT_TRUE(save(folder, 2));
  CheckpointWriter writer;
  {
    const SmallFiles full(500);
    writer.save(folder, 4, {a_saved_shard(0, 4), a_saved_shard(1, 4)}, true);
    ASSERT_TRUE(writer.wait_until_idle(std::chrono::seconds(60)));
  }
  EXPECT_EQ(writer.saved_shards(4), 0);
  EXPECT_THAT(writer.last_error(), HasSubstr("piece-001-00.bin: File too large; what it would save is in memory only"));
  EXPECT_TRUE(fs::is_empty(step_folder(folder, 4)));
  EXPECT_THAT(complete_checkpoints(folder), ElementsAre(2));
  writer.save(folder, 6, {a_saved_shard(0, 6), a_saved_shard(1, 6)}, true);
  writer.complete(folder, a_manifest(6), 1);
  ASSERT_TRUE(writer.wait_until_idle(std::chrono::seconds(60)));
  EXPECT_EQ(writer.last_error(), "");
  EXPECT_THAT(complete_checkpoints(folder), ElementsAre(6));
}

}  // namespace
}  // namespace sailor::trainer
