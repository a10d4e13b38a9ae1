// The watchdog: a reconcile that is stuck is noticed although others go on, and one that waits for them is not stuck.
#include "operator/watchdog.h"

#include <semaphore>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "operator/reconcile/controller.h"
#include "tests/operator/fake_api.h"

namespace sailor {
namespace {

using std::chrono::minutes;

constexpr Watchdog::Instant kStart{};
constexpr minutes kLimit{2};

TEST(WatchdogTest, SlowAnswersAreProgress) {
  Watchdog watchdog(kLimit);
  watchdog.begin(kStart);
  for (int minute = 1; minute < 60; ++minute) watchdog.progress(kStart + minutes(minute));
  EXPECT_FALSE(watchdog.is_stuck(kStart + minutes(60)));
  EXPECT_TRUE(watchdog.is_stuck(kStart + minutes(61)));
}

TEST(WatchdogTest, NothingIsStuckWhileNoReconcileRuns) {
  Watchdog watchdog(kLimit);
  EXPECT_FALSE(watchdog.is_stuck(kStart + minutes(60)));
  watchdog.begin(kStart);
  watchdog.end();
  watchdog.progress(kStart + minutes(1));  // of a request that is not a reconcile's
  EXPECT_FALSE(watchdog.is_stuck(kStart + minutes(60)));
}

TEST(WatchdogTest, AThreadIsStuckAlthoughOthersMakeProgress) {
  Watchdog watchdog(kLimit);
  watchdog.begin(kStart);
  std::jthread([&] {
    for (int minute = 0; minute < 60; ++minute) {
      watchdog.begin(kStart + minutes(minute));
      watchdog.progress(kStart + minutes(minute + 1));
      watchdog.end();
    }
    watchdog.begin(kStart + minutes(60));
  }).join();
  EXPECT_TRUE(watchdog.is_stuck(kStart + minutes(60))) << "this thread is";
  watchdog.end();
  EXPECT_FALSE(watchdog.is_stuck(kStart + minutes(61))) << "the other one is not yet";
  EXPECT_TRUE(watchdog.is_stuck(kStart + minutes(62)));
}

// Reconciles jobs on a thread each, as OperatorRuntime does. The one that claims GPUs first gets no further until the
// test lets it.
class ReconcilesAtOnce : public ::testing::Test {
 protected:
  static constexpr int kJobs = 4;
  static constexpr std::chrono::seconds kPatience{20};

  ReconcilesAtOnce() {
    for (int i = 0; i < kJobs; ++i) {
      const JobKey job{"default", "job-" + std::to_string(i)};
      caches.jobs.put({{"metadata", {{"namespace", job.namespace_name}, {"name", job.name}, {"uid", job.name}}}});
      threads.emplace_back([this, job] {
        watchdog.begin(kStart);
        controller.reconcile(job);
        watchdog.end();
      });
    }
  }
  ~ReconcilesAtOnce() override {
    may_answer.release(kJobs);
    may_end.release(kJobs);
  }

  ObserverSources sources() {
    ObserverSources sources;
    sources.read_job = [](const kube::Json&) { return JobSpec(); };
    sources.agents = [this](const JobKey&) -> std::map<std::string, AgentView> {
      claims.release();
      may_answer.acquire();
      watchdog.progress(kStart + minutes(60));
      has_answer.release();
      may_end.acquire();
      throw std::runtime_error("the test has seen enough");
    };
    return sources;
  }
  ControllerHooks hooks() {
    ControllerHooks hooks;
    hooks.waits = [this] {
      watchdog.end();
      waits.release();
    };
    hooks.goes_on = [this] { watchdog.begin(kStart); };
    return hooks;
  }
  static bool comes(std::counting_semaphore<>& event) { return event.try_acquire_for(kPatience); }

  Watchdog watchdog{kLimit};
  std::counting_semaphore<> waits{0};  // a reconcile waits for the others
  std::counting_semaphore<> claims{0};
  std::counting_semaphore<> may_answer{0};
  std::counting_semaphore<> has_answer{0};
  std::counting_semaphore<> may_end{0};
  testing::FakeApi server;
  kube::Api api{server};
  Caches caches;
  PodRefusals refusals;
  SecuredJobs secured_jobs;
  WorkQueue queue;
  Observer observer{caches, {}, sources()};
  Applier applier{api, caches, refusals, secured_jobs, {}};
  Leftovers leftovers{api, caches};
  Controller controller{leftovers, observer, applier, queue, hooks()};
  std::vector<std::jthread> threads;
};

TEST_F(ReconcilesAtOnce, ThoseThatWaitForTheOneThatClaimsAreStuckOnlyIfItIs) {
  ASSERT_TRUE(comes(claims));
  for (int i = 0; i < kJobs; ++i) ASSERT_TRUE(comes(waits));
  EXPECT_TRUE(watchdog.is_stuck(kStart + kLimit)) << "the one that claims gets no answer";
  may_answer.release();
  ASSERT_TRUE(comes(has_answer));
  EXPECT_FALSE(watchdog.is_stuck(kStart + minutes(61))) << "it got an answer, and the others wait for it";
}

}  // namespace
}  // namespace sailor
