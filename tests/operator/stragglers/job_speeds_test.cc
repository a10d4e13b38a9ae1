#include "operator/stragglers/job_speeds.h"

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "core/model/speed_grade.h"

namespace sailor {
namespace {

const PoolKey kPool{Zone("z"), Accelerator("a"), Provisioning::kSpot, 0};
constexpr double kUsual = 0.05;  // seconds of a microbatch

// Workers that report once in each step.
class Job {
 public:
  explicit Job(std::vector<Work> works) {
    for (const Work& work : works) gpus_.push_back({work, 1});
  }
  // Data-parallel replicas of one stage.
  explicit Job(int workers) : Job(std::vector<Work>(static_cast<std::size_t>(workers), {kPool, 0, 6, 1, 2})) {}

  void set(std::size_t gpu, double factor) { gpus_.at(gpu).factor = factor; }
  void set_work(const Work& work) {
    for (auto& gpu : gpus_) gpu.work = work;
  }
  void set_work(std::size_t gpu, const Work& work) { gpus_.at(gpu).work = work; }
  void plan_seconds(double seconds) { planned_ = seconds; }
  // Each time is this part above or below its mean, with a normal distribution of the logarithms.
  void make_noise(double sigma, unsigned seed) {
    sigma_ = sigma;
    random_.seed(seed);
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) run_one();
  }
  // Returns how many steps it takes until this GPU is as slow as the test says; 0: it never is.
  int steps_until(std::size_t gpu, const std::function<bool(double)>& is_so) {
    for (int step = 1; step <= 200; ++step) {
      run_one();
      if (is_so(slowdown(gpu))) return step;
    }
    return 0;
  }
  // The GPU does not report in these steps.
  void pause(std::size_t gpu, int steps) {
    paused_ = gpu;
    run(steps);
    paused_.reset();
  }
  void report(std::size_t gpu, double seconds) { once_ = {gpu, seconds}; }

  [[nodiscard]] double slowdown(std::size_t gpu) const {
    const auto all = speeds.speeds();
    const auto found = all.find(name(gpu));
    return found == all.end() ? 1 : found->second.slowdown;
  }
  static GpuName name(std::size_t gpu) { return {"node-" + std::to_string(gpu), 0}; }

  JobSpeeds speeds;
  JobSpeeds::KnownSlowGpus known;

 private:
  struct Gpu {
    Work work;
    double factor = 1;
  };

  void run_one() {
    ++step_;
    std::vector<PassTime> times;
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      if (paused_ == i) continue;
      const double noise = std::exp(sigma_ * normal_(random_));
      times.push_back({name(i), gpus_[i].work, 1, step_, kUsual * gpus_[i].factor * noise});
      times.back().planned_seconds = planned_;
      if (once_ && once_->first == i) times.back().seconds = once_->second;
    }
    once_.reset();
    now_ += std::chrono::seconds(1);
    speeds.note(times, known, now_);
    speeds.note(times, known, now_);  // the operator often looks before there is another report
  }

  std::vector<Gpu> gpus_;
  std::int64_t step_ = 0;
  JobSpeeds::Time now_;
  double sigma_ = 0;
  double planned_ = 0;
  std::mt19937 random_{1};  // NOLINT(cert-msc51-cpp): each run is the same
  std::normal_distribution<double> normal_;
  std::optional<std::pair<std::size_t, double>> once_;
  std::optional<std::size_t> paused_;
};

// Otherwise steps by a plan for equal GPUs, to which a job returns because a GPU seemed to have recovered, would count
// as what that plan usually takes.
TEST(JobSpeeds, AGpuThatReturnsToItsWorkIsNotSettledBeforeItsSpeedIsKnown) {
  Job job(2);
  job.run(20);
  const Work usual{kPool, 0, 6, 1, 2};
  const Work other{kPool, 0, 3, 1, 2};
  job.set_work(other);
  job.run(20);
  job.set_work(usual);
  job.set(1, 2);
  for (int step = 0; job.slowdown(1) <= 1; ++step) {
    ASSERT_LT(step, 20);
    job.run(1);
    EXPECT_FALSE(job.speeds.speeds().at(Job::name(1)).is_settled) << "after " << step + 1 << " steps";
  }
  job.run(20);
  EXPECT_TRUE(job.speeds.speeds().at(Job::name(1)).is_settled);
}

TEST(JobSpeeds, ASlowGpuIsNoticedWithinTenStepsAndOnlyThatOne) {
  for (const int workers : {2, 3, 4}) {
    for (const double factor : {2.0, 4.0, 8.0}) {
      Job job(workers);
      job.run(20);
      job.set(1, factor);
      const int steps = job.steps_until(1, [](double slowdown) { return slowdown > 1; });
      EXPECT_GE(steps, 1) << workers << " workers, factor " << factor;
      EXPECT_LE(steps, 10) << workers << " workers, factor " << factor;
      EXPECT_NEAR(job.slowdown(1), factor, 0.05 * factor);
      EXPECT_EQ(job.slowdown(0), 1);
    }
  }
}

TEST(JobSpeeds, TwentyPercentNoiseChangesNothingInAThousandSteps) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    for (const int workers : {2, 4}) {
      Job job(workers);
      job.make_noise(0.2, seed);
      for (int step = 0; step < 1000; ++step) {
        job.run(1);
        for (std::size_t gpu = 0; gpu < static_cast<std::size_t>(workers); ++gpu) {
          ASSERT_EQ(job.slowdown(gpu), 1) << "seed " << seed << ", " << workers << " workers, step " << step;
        }
      }
    }
  }
}

TEST(JobSpeeds, TwentyPercentNoiseDoesNotChangeTheGradeOfASlowGpu) {
  Job job(4);
  job.run(20);
  job.set(1, 3);
  job.run(20);
  const int grade = grade_of(job.slowdown(1));
  job.make_noise(0.2, 1);
  for (int step = 0; step < 1000; ++step) {
    job.run(1);
    ASSERT_EQ(grade_of(job.slowdown(1)), grade) << "step " << step;
  }
}

TEST(JobSpeeds, ASlowGpuIsFoundInNoise) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    Job job(2);
    job.make_noise(0.2, seed);
    job.run(100);
    job.set(1, 2);
    const int steps = job.steps_until(1, [](double slowdown) { return slowdown > 1; });
    EXPECT_GE(steps, 1);
    EXPECT_LE(steps, 12) << "seed " << seed;
    EXPECT_EQ(job.slowdown(0), 1);
  }
}

TEST(JobSpeeds, AGpuGetsSlowAtOnePointTwoAndRecoversBelowOnePointOne) {
  Job job(4);
  job.run(20);
  job.set(1, 1.15);
  job.run(200);
  EXPECT_EQ(job.slowdown(1), 1) << "below 1.2 it is as fast as usual";
  job.set(1, 3);
  job.run(20);
  job.set(1, 1.15);
  job.run(20);
  EXPECT_NEAR(job.slowdown(1), 1.15, 0.01) << "above 1.1 a slow GPU is still slow";
  job.set(1, 2);
  job.run(20);
  job.set(1, 1.05);
  job.run(20);
  EXPECT_EQ(job.slowdown(1), 1);
}

// Returns a job whose second GPU was slow, and has been slower than usual by this factor for so many steps since.
Job a_job_with_a_rest_of_slowness(double factor, int steps) {
  Job job(2);
  job.run(20);
  job.set(1, 3);
  job.run(20);
  job.set(1, factor);
  job.run(steps);
  return job;
}

// The difference is too small for the change detector.
TEST(JobSpeeds, AGpuThatWasAlmostUsualAndHasRecoveredIsNotSlow) {
  Job job = a_job_with_a_rest_of_slowness(1.14, 40);
  EXPECT_GT(job.slowdown(1), kSlowUntil);
  job.set(1, 1);
  job.run(40);
  EXPECT_EQ(job.slowdown(1), 1);
}

// So is this one, although the GPU was slower than the limit from which it counts as slow.
TEST(JobSpeeds, AGpuThatWasALittleSlowForLongAndHasRecoveredIsNotSlow) {
  Job job = a_job_with_a_rest_of_slowness(1.25, 60);
  EXPECT_GT(job.slowdown(1), kSlowFrom);
  job.set(1, 1.05);
  job.run(60);
  EXPECT_EQ(job.slowdown(1), 1);
}

// The profile may be wrong about the new work. What the other GPU learns corrects it, also after the speed has changed.
TEST(JobSpeeds, AGpuThatRecoversWhileItsUsualTimeIsGuessedIsComparedWithItsPeerLater) {
  Job job(2);
  job.plan_seconds(1);
  job.run(20);
  job.set(1, 4);
  job.run(10);
  job.set_work({kPool, 0, 6, 1, 1});
  job.plan_seconds(0.8);
  job.run(4);
  job.set(1, 1);
  job.run(40);
  EXPECT_EQ(job.slowdown(1), 1);
  EXPECT_EQ(job.slowdown(0), 1);
}

TEST(JobSpeeds, AClockThatJumpsMakesNoStraggler) {
  Job job(4);
  job.run(20);
  for (const double seconds :
       {1e4, 1e9, 0.0, -3.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1e-9}) {
    job.report(1, seconds);
    job.run(10);
    EXPECT_EQ(job.slowdown(1), 1) << seconds;
  }
  job.set(1, 4);
  job.run(5);
  EXPECT_NEAR(job.slowdown(1), 4, 0.1) << "it is still measured";
}

TEST(JobSpeeds, WhatSlowsAllWorkersAlikeIsNoStraggler) {
  Job job(2);
  job.run(20);
  for (const std::size_t gpu : {0U, 1U}) job.set(gpu, 4);
  job.run(50);
  EXPECT_EQ(job.slowdown(0), 1);
  EXPECT_EQ(job.slowdown(1), 1);
  job.set(1, 8);
  job.run(10);
  EXPECT_EQ(job.slowdown(0), 1);
  EXPECT_NEAR(job.slowdown(1), 2, 0.1) << "twice as slow as the other";
}

TEST(JobSpeeds, AJobOfOneWorkerHasNoStraggler) {
  Job job(1);
  job.run(20);
  job.set(0, 4);
  job.run(50);
  EXPECT_EQ(job.slowdown(0), 1);
}

TEST(JobSpeeds, AmongThreePeersTheOneThatWasSlowFromTheStartIsFound) {
  Job job(4);
  job.set(1, 2);
  job.run(30);
  EXPECT_NEAR(job.slowdown(1), 2, 0.01);
  job.set(1, 1);
  job.run(10);
  EXPECT_EQ(job.slowdown(1), 1);
}

TEST(JobSpeeds, StagesAreNotComparedWithEachOther) {
  Job job({{kPool, 0, 2, 1, 2}, {kPool, 2, 6, 1, 2}, {kPool, 6, 8, 1, 2}});
  job.set(1, 5);  // its stage has more to compute
  job.run(100);
  EXPECT_EQ(job.slowdown(1), 1);
  job.set(1, 20);
  job.run(10);
  EXPECT_NEAR(job.slowdown(1), 4, 0.1) << "compared with its own past";
}

TEST(JobSpeeds, ASlowGpuStaysSlowWhenItGetsOtherWork) {
  Job job(2);
  job.run(20);
  job.set(1, 4);
  job.run(10);
  job.set_work({kPool, 0, 3, 1, 1});
  job.run(30);
  EXPECT_NEAR(job.slowdown(1), 4, 0.1);
  job.set(1, 1);
  job.run(10);
  EXPECT_EQ(job.slowdown(1), 1);
  EXPECT_EQ(job.slowdown(0), 1);
}

TEST(JobSpeeds, AnOperatorThatStartsTakesTheSlowGpusOver) {
  Job job(2);
  job.known = {{Job::name(1), {4}}};
  job.set(1, 4);
  job.run(20);
  EXPECT_NEAR(job.slowdown(1), 4, 0.1);
  job.set(1, 1);
  job.run(10);
  EXPECT_EQ(job.slowdown(1), 1);
}

TEST(JobSpeeds, ProbesShowThatAGpuHasRecovered) {
  Job job(2);
  const Work probe{.pool = kPool};
  job.run(20);
  job.set(1, 8);
  job.run(10);
  std::vector<PassTime> times{{Job::name(0), {kPool, 0, 6, 1, 2}, 2, 100, kUsual}, {Job::name(1), probe, 2, 30, 0.8}};
  JobSpeeds::Time now(std::chrono::hours(1));
  const auto look = [&](double seconds) {
    ++times[0].step;
    times[1].seconds = seconds;
    job.speeds.note(times, {}, now += std::chrono::seconds(1));
  };
  for (int i = 0; i < 20; ++i) look(0.8 + 0.001 * i);
  EXPECT_NEAR(job.slowdown(1), 8, 0.2);
  for (int i = 0; i < 5; ++i) look(0.1 + 0.001 * i);
  EXPECT_EQ(job.slowdown(1), 1);
}

TEST(JobSpeeds, ANewOperatorSeesFromTheFirstProbesThatAGpuHasRecovered) {
  Job job(2);
  job.run(20);
  job.set(1, 8);
  job.run(10);
  JobSpeeds::Time now(std::chrono::hours(1));
  const auto look = [&](JobSpeeds& speeds, double seconds, const JobSpeeds::KnownSlowGpus& known) {
    speeds.note({{Job::name(1), {.pool = kPool}, 2, 30, seconds}}, known, now += std::chrono::seconds(1));
    return speeds.speeds()[Job::name(1)];
  };
  GpuSpeed before;
  for (int i = 0; i < 6; ++i) before = look(job.speeds, 0.8 + 0.001 * i, {});
  ASSERT_TRUE(before.usual_probe_seconds);
  EXPECT_NEAR(*before.usual_probe_seconds, 0.1, 0.01);
  JobSpeeds of_new_operator;
  const JobSpeeds::KnownSlowGpus known = {{Job::name(1), {before.slowdown, *before.usual_probe_seconds}}};
  double slowdown = before.slowdown;
  for (int i = 0; i < 5; ++i) slowdown = look(of_new_operator, 0.1 + 0.001 * i, known).slowdown;
  EXPECT_EQ(slowdown, 1);
}

TEST(JobSpeeds, AGpuThatRecoversAfterThreeProbesIsNotTakenForSlow) {
  Job job(2);
  job.run(20);
  job.set(1, 8);
  job.run(10);
  JobSpeeds::Time now(std::chrono::hours(1));
  for (int probe = 0; probe < 10; ++probe) {
    job.speeds.note({{Job::name(1), {.pool = kPool}, 2, 30, (probe < 3 ? 0.8 : 0.1) + 0.001 * probe}}, {},
                    now += std::chrono::seconds(1));
  }
  EXPECT_EQ(job.slowdown(1), 1);
}

TEST(JobSpeeds, ASlowGpuThatRecoversAsItGetsOtherWorkIsNotTakenForSlow) {
  for (const int workers : {2, 4}) {
    Job job(workers);
    job.run(20);
    job.set(1, 4);
    job.run(10);
    job.set_work({kPool, 0, 3, 1, 1});
    job.set(1, 1);
    job.run(30);
    EXPECT_EQ(job.slowdown(1), 1) << workers << " workers";
  }
}

TEST(JobSpeeds, ASlowGpuThatRecoversAsItGetsAStageAloneIsNotTakenForSlow) {
  Job job({{kPool, 0, 4, 1, 2}, {kPool, 4, 8, 1, 2}});
  job.plan_seconds(1);
  job.run(20);
  job.set(1, 4);
  job.run(10);
  job.set_work(1, {kPool, 7, 8, 1, 2});
  job.plan_seconds(0.25);
  job.set(1, 0.25);  // a quarter of the layers, at usual speed
  job.run(30);
  EXPECT_EQ(job.slowdown(1), 1);
}

TEST(JobSpeeds, AGpuThatDoesNotReportForAWhileKeepsItsUsualTime) {
  Job job(2);
  job.run(20);
  job.pause(1, 5);
  job.set(1, 4);
  const int steps = job.steps_until(1, [](double slowdown) { return slowdown > 1; });
  EXPECT_GE(steps, 1);
  EXPECT_LE(steps, 10);
}

TEST(JobSpeeds, AStallOfTwoSecondsMakesNoStraggler) {
  Job job(2);
  job.run(20);
  for (int stall = 0; stall < 20; ++stall) {
    job.set(1, 6);
    job.run(2);
    job.set(1, 1);
    job.run(8);
    ASSERT_EQ(job.slowdown(1), 1) << "stall " << stall;
  }
}

TEST(JobSpeeds, ReportsAboutTheSameSecondCountOnce) {
  Job job(2);
  job.run(20);
  std::vector<PassTime> times{{Job::name(0), {kPool, 0, 6, 1, 2}, 1, 20, kUsual},
                              {Job::name(1), {kPool, 0, 6, 1, 2}, 1, 20, 6 * kUsual}};
  JobSpeeds::Time now(std::chrono::seconds(21));
  for (int poll = 0; poll < 15; ++poll) {
    for (PassTime& time : times) ++time.step;
    job.speeds.note(times, {}, now += std::chrono::milliseconds(100));
  }
  EXPECT_EQ(job.slowdown(1), 1);
}

TEST(JobSpeeds, TheFirstStepsAtNewWorkAreNotJudged) {
  Job job(4);
  job.run(20);
  job.set(1, 5);
  job.set_work({kPool, 0, 3, 1, 1});
  job.run(3);
  job.set(1, 1);
  job.run(30);
  EXPECT_EQ(job.slowdown(1), 1);
}

// Twice as many workers as processors: each report is far off, in one direction for some seconds.
TEST(JobSpeeds, WorkersWithoutEnoughProcessorsMakeNoStraggler) {
  Job job(8);
  job.make_noise(0.5, 1);
  for (int step = 0; step < 500; ++step) {
    job.run(1);
    for (std::size_t gpu = 0; gpu < 8; ++gpu) ASSERT_EQ(job.slowdown(gpu), 1) << "step " << step;
  }
}

}  // namespace
}  // namespace sailor
