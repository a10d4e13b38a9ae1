// What `sailor-trainer links` measures between two workers.
#include "trainer/profile/measure_link.h"

#include <algorithm>
#include <utility>

#include <gtest/gtest.h>

#include "tests/trainer/support/assignments.h"
#include "tests/trainer/support/delegating_group.h"
#include "trainer/profile/local_group.h"

namespace sailor::trainer {
namespace {

TEST(Links, HaveTheSameResultAtBothEnds) {
  Link seen[2];
  run_local_group({.host = testing::own_address(), .size = 2},
                  [&](int rank, Group& group) { seen[rank] = measure_link(group, rank); });
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_GT(seen[0].bandwidth.value(), 1e6);
  EXPECT_GT(seen[0].latency.value(), 0);
  EXPECT_LT(seen[0].latency.value(), 1);
}

// A worker's compute on a clock that only work moves on.
class ManualCompute : public TimedCompute {
 public:
  static constexpr Seconds kPart{0.001};

  void run(int parts) override { now_ += kPart * parts; }
  [[nodiscard]] Seconds now() const override { return now_; }
  void wait_until(Seconds time) { now_ = std::max(now_, time); }

 private:
  Seconds now_{0};
};

// A group whose large messages and sums take 15 ms of the clock. The caller works on them, or else the network does.
class SlowGroup : public testing::DelegatingGroup {
 public:
  struct Caller {
    bool works_on_messages = false;
    bool works_on_sums = false;
  };
  SlowGroup(Group& group, Caller caller, ManualCompute& clock)
      : DelegatingGroup(group), caller_(caller), clock_(clock) {}

  std::unique_ptr<Work> start_all_reduce(const at::Tensor& tensor) override {
    auto work = DelegatingGroup::start_all_reduce(tensor);
    return tensor.numel() < kLarge ? std::move(work) : slowed(std::move(work), caller_.works_on_sums);
  }
  std::unique_ptr<Work> send(const at::Tensor& tensor, int to, int tag) override {
    return slowed(DelegatingGroup::send(tensor, to, tag), caller_.works_on_messages);
  }

 private:
  static constexpr std::int64_t kLarge = 1000;  // elements
  static constexpr Seconds kTime{0.015};

  class SlowWork : public Work {
   public:
    SlowWork(std::unique_ptr<Work> work, ManualCompute& clock)
        : work_(std::move(work)), clock_(clock), end_(clock.now() + kTime) {}
    void wait() override {
      work_->wait();
      clock_.wait_until(end_);
    }

   private:
    std::unique_ptr<Work> work_;
    ManualCompute& clock_;
    Seconds end_;
  };
  class Done : public Work {
   public:
    void wait() override {}
  };

  std::unique_ptr<Work> slowed(std::unique_ptr<Work> work, bool by_caller) {
    auto slow = std::make_unique<SlowWork>(std::move(work), clock_);
    if (!by_caller) return slow;
    slow->wait();
    return std::make_unique<Done>();
  }

  Caller caller_;
  ManualCompute& clock_;
};

TEST(Links, SayWhatRunsBesideCompute) {
  for (const bool is_message : {false, true}) {
    const SlowGroup::Caller caller{.works_on_messages = is_message, .works_on_sums = !is_message};
    ExecutionModel seen[2];
    const auto work = [&](int rank, Group& group) {
      ManualCompute compute;
      SlowGroup slow(group, caller, compute);
      const Link link{.bandwidth = BytesPerSecond(4e9), .latency = Seconds(0)};
      seen[rank] = measure_execution({slow, slow}, rank, link, compute);
    };
    run_local_group({.host = testing::own_address(), .size = 2}, work);
    EXPECT_EQ(seen[0], seen[1]);
    EXPECT_TRUE(seen[0].is_measured);
    EXPECT_EQ(seen[0].messages_beside_passes, !is_message);
    EXPECT_EQ(seen[0].sums_beside_passes, is_message);
    EXPECT_NEAR(seen[0].sum_share, 8 * 1024 * 1024 / 4e9 / 0.015, 1e-9) << "8 MiB at 4 GB/s, in 15 ms";
  }
}

TEST(Links, AreMeasuredBesideRealCompute) {
  ExecutionModel seen[2];
  const auto work = [&](int rank, Group& group) {
    const auto compute = matrix_products();
    seen[rank] =
        measure_execution({group, group}, rank, {.bandwidth = BytesPerSecond(4e9), .latency = Seconds(0)}, *compute);
  };
  run_local_group({.host = testing::own_address(), .size = 2}, work);
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_GT(seen[0].sum_share, 0);
}

}  // namespace
}  // namespace sailor::trainer
