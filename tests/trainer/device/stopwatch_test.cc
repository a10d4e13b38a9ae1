// What counts as the time of a worker on a CPU.
#include "trainer/device/stopwatch.h"

#include <chrono>
#include <csignal>
#include <ctime>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sailor::trainer {
namespace {

double seconds_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// The thread that makes it, and those that it starts, share one processor until the object's end.
class OneProcessor {
 public:
  OneProcessor() {
    sched_getaffinity(0, sizeof before_, &before_);
    int first = 0;
    while (!CPU_ISSET(first, &before_)) ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  ~OneProcessor() { sched_setaffinity(0, sizeof before_, &before_); }
  OneProcessor(const OneProcessor&) = delete;
  OneProcessor& operator=(const OneProcessor&) = delete;

 private:
  cpu_set_t before_{};
};

TEST(StopwatchOfACpu, StandsStillWhileOtherThreadsHaveTheProcessor) {
  const OneProcessor processor;
  std::vector<std::jthread> others;
  for (int i = 0; i < 3; ++i) {
    others.emplace_back([](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
      }
    });
  }
  Stopwatch watch(at::kCPU);
  const double began = seconds_of(CLOCK_MONOTONIC);
  const double before = seconds_of(CLOCK_THREAD_CPUTIME_ID);
  watch.start();
  while (seconds_of(CLOCK_THREAD_CPUTIME_ID) - before < 0.2) {
  }
  watch.stop();
  EXPECT_GT(seconds_of(CLOCK_MONOTONIC) - began, 0.4) << "the others did not compete for the processor";
  EXPECT_NEAR(watch.take(), 0.2, 0.04);
}

TEST(StopwatchOfACpu, RunsWhileItsThreadSleeps) {
  Stopwatch watch(at::kCPU);
  watch.start();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  watch.stop();
  EXPECT_GE(watch.take(), 0.05);
}

// As the pods of the local Kubernetes are when their GPUs are to be slow.
TEST(StopwatchOfACpu, RunsWhileItsProcessIsStopped) {
  const pid_t child = fork();
  if (child == 0) {
    Stopwatch watch(at::kCPU);
    watch.start();
    raise(SIGSTOP);
    watch.stop();
    _exit(watch.take() > 0.1 ? 0 : 1);  // on a busy machine it first waits for a processor to stop on
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  kill(child, SIGCONT);
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace sailor::trainer
