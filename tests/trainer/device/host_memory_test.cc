#include "trainer/device/host_memory.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/support/assignments.h"

namespace sailor::trainer {
namespace {

class HostMemory : public ::testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((scratch_.folder() / file).parent_path());
    std::ofstream(scratch_.folder() / file) << text;
  }
  // 4,096,000 bytes are available on the machine.
  void describe_machine() const {
    write("proc/meminfo", "MemTotal:       9000 kB\nMemFree:         100 kB\nMemAvailable:   4000 kB\n");
    write("proc/self/cgroup", "0::/pod/container\n");
  }
  [[nodiscard]] auto available() const { return available_host_memory(scratch_.folder()); }

  const testing::Scratch scratch_;
};

TEST_F(HostMemory, IsThatOfTheMachineIfNoControlGroupHasALimit) {
  describe_machine();
  EXPECT_EQ(available(), 4'096'000);
  write("sys/fs/cgroup/pod/container/memory.max", "max\n");
  write("sys/fs/cgroup/pod/container/memory.current", "5\n");
  EXPECT_EQ(available(), 4'096'000);
}

TEST_F(HostMemory, IsWhatTheLimitsOfAllControlGroupsLeave) {
  describe_machine();
  write("sys/fs/cgroup/pod/container/memory.max", "3000000\n");
  write("sys/fs/cgroup/pod/container/memory.current", "1000000\n");
  EXPECT_EQ(available(), 2'000'000);
  write("sys/fs/cgroup/pod/container/memory.stat", "anon 600000\nfile 400000\ninactive_file 300000\n");
  EXPECT_EQ(available(), 2'300'000) << "pages of files can be dropped";
  write("sys/fs/cgroup/pod/memory.max", "1500000\n");
  write("sys/fs/cgroup/pod/memory.current", "1600000\n");
  EXPECT_EQ(available(), 0) << "the parent's limit counts as well";
}

TEST_F(HostMemory, OfAContainerIsLimitedAtTheRootOfItsNamespace) {
  describe_machine();
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/memory.max", "3000000\n");
  write("sys/fs/cgroup/memory.current", "1000000\n");
  EXPECT_EQ(available(), 2'000'000);
}

TEST_F(HostMemory, IsUnknownOnAMachineThatDoesNotSayIt) { EXPECT_EQ(available(), std::nullopt); }

TEST_F(HostMemory, OfThisMachineIsKnown) { EXPECT_GT(available_host_memory(), 0); }

}  // namespace
}  // namespace sailor::trainer
