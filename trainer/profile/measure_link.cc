#include "trainer/profile/measure_link.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include <ATen/ATen.h>

#include "trainer/device/device.h"

namespace sailor::trainer {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSmallMessages = 200;
constexpr int kLargeMessages = 16;
constexpr std::int64_t kLargeElements = 2 << 20;  // 8 MiB, about the size of activations and gradients

at::Tensor zeros(std::int64_t elements) {
  return at::zeros({elements}, at::device(compute_device()).dtype(at::kFloat));
}

// Sends messages back and forth. Returns the time of one direction, as the mean of the faster half of the messages.
double one_way_seconds(Group& group, int rank, std::int64_t elements, int messages) {
  const at::Tensor tensor = zeros(elements);
  const int peer = 1 - rank;
  const auto exchange = [&](int tag) {
    if (rank == 0) group.send(tensor, peer, tag)->wait();
    group.receive(tensor, peer, tag)->wait();
    if (rank == 1) group.send(tensor, peer, tag)->wait();
    wait_for_compute_device();
  };
  exchange(0);  // the first message opens connections
  std::vector<double> seconds;
  for (int i = 0; i < messages; ++i) {
    const auto begin = Clock::now();
    exchange(i + 1);
    seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count() / 2);
  }
  std::ranges::sort(seconds);
  const auto half = std::ssize(seconds) / 2;
  return std::accumulate(seconds.begin(), seconds.begin() + half, 0.0) / static_cast<double>(half);
}

// A message to the peer and one from it.
class Exchange : public Work {
 public:
  Exchange(Group& group, int peer, const at::Tensor& out, const at::Tensor& in, int tag)
      : received_(group.receive(in, peer, tag)), sent_(group.send(out, peer, tag)) {}
  void wait() override {
    received_->wait();
    sent_->wait();
  }

 private:
  std::unique_ptr<Work> received_;
  std::unique_ptr<Work> sent_;
};

using Start = std::function<std::unique_ptr<Work>()>;

class MatrixProducts : public TimedCompute {
 public:
  void run(int parts) override {
    for (int i = 0; i < parts; ++i) at::mm_out(product_, factor_, factor_);
    wait_for_compute_device();
  }
  [[nodiscard]] Seconds now() const override {
    return Seconds(std::chrono::duration<double>(Clock::now().time_since_epoch()).count());
  }

 private:
  static constexpr std::int64_t kSize = 256;
  at::Tensor factor_ = zeros(kSize * kSize).view({kSize, kSize});
  at::Tensor product_ = zeros(kSize * kSize).view({kSize, kSize});
};

class OverlapMeter {
 public:
  // `start` starts the communication on both workers. They meet in `group`.
  OverlapMeter(Group& group, TimedCompute& compute, Start start)
      : group_(group), compute_(compute), start_(std::move(start)) {
    alone_ = fastest([&] { finish(*start_()); });
    const Seconds part = fastest([&] { compute_.run(1); });
    parts_ = std::max(1, static_cast<int>(alone_ / part));
  }

  // The time of the communication alone.
  [[nodiscard]] Seconds alone() const { return alone_; }

  // Returns which part of the shorter of communication and compute takes place beside the other, from 0 to 1.
  [[nodiscard]] double hidden_part() {
    const Seconds computed = fastest([&] { compute_.run(parts_); });
    const Seconds both = fastest([&] {
      const auto work = start_();
      compute_.run(parts_);
      finish(*work);
    });
    return std::clamp((alone_ + computed - both) / std::min(alone_, computed), 0.0, 1.0);
  }

 private:
  static void finish(Work& work) {
    work.wait();
    wait_for_compute_device();
  }

  // Both workers begin at the same time. The fastest of several times is the one that other programs disturb least.
  Seconds fastest(const std::function<void()>& work) {
    constexpr int kTimes = 9;
    Seconds least(std::numeric_limits<double>::infinity());
    for (int i = 0; i < kTimes; ++i) {
      group_.all_reduce(at::zeros({1}, at::kFloat));
      const Seconds begin = compute_.now();
      work();
      least = std::min(least, compute_.now() - begin);
    }
    return least;
  }

  Group& group_;
  TimedCompute& compute_;
  Start start_;
  Seconds alone_{0};
  int parts_ = 1;  // of compute, which take about as long as the communication
};

}  // namespace

std::unique_ptr<TimedCompute> matrix_products() { return std::make_unique<MatrixProducts>(); }

ExecutionModel measure_execution(const LinkGroups& groups, int rank, const Link& link, TimedCompute& compute) {
  constexpr double kBeside = 0.5;
  Group& group = groups.messages;
  const at::Tensor out = zeros(kLargeElements);
  const at::Tensor in = zeros(kLargeElements);
  OverlapMeter messages(group, compute, [&] { return std::make_unique<Exchange>(group, 1 - rank, out, in, 1); });
  OverlapMeter sums(group, compute, [&] { return groups.sums.start_all_reduce(in); });
  // In a ring of two, each worker sends half of the tensor twice.
  const double bytes = static_cast<double>(kLargeElements) * sizeof(float);
  const Seconds least(bytes / link.bandwidth.value() + 2 * link.latency.value());
  const at::Tensor figures =
      at::tensor({messages.hidden_part(), sums.hidden_part(), least / sums.alone()}, at::kDouble);
  group.all_reduce(figures);  // both workers get the mean of the two measurements
  ExecutionModel model = default_execution_model();
  model.is_measured = true;
  model.messages_beside_passes = figures[0].item<double>() / 2 > kBeside;
  model.message_latency = Seconds(0);  // that of the link was measured with the trainer's messages
  model.sums_beside_passes = figures[1].item<double>() / 2 > kBeside;
  model.sum_share = figures[2].item<double>() / 2;
  return model;
}

Link measure_link(Group& messages, int rank) {
  const double latency = one_way_seconds(messages, rank, 1, kSmallMessages);
  const double large = one_way_seconds(messages, rank, kLargeElements, kLargeMessages);
  const double bytes = static_cast<double>(kLargeElements) * sizeof(float);
  const at::Tensor figures = at::tensor({latency, bytes / std::max(large - latency, 1e-9)}, at::kDouble);
  messages.all_reduce(figures);  // both workers get the mean of the two measurements
  return {.bandwidth = BytesPerSecond(figures[1].item<double>() / 2),
          .latency = Seconds(figures[0].item<double>() / 2)};
}

}  // namespace sailor::trainer
