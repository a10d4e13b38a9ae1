#include "trainer/profile/measure_link.h"

#include <algorithm>
#include <numeric>

#include <ATen/ATen.h>

namespace sailor::trainer {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSmallMessages = 200;
constexpr int kLargeMessages = 16;
constexpr std::int64_t kLargeElements = 2 << 20;  // 8 MiB, about the size of activations and gradients

// Sends messages back and forth. Returns the time of one direction, as the mean of the faster half of the messages.
double one_way_seconds(Group& group, int rank, std::int64_t elements, int messages) {
  const at::Tensor tensor = at::zeros({elements}, at::kFloat);
  const int peer = 1 - rank;
  const auto exchange = [&](int tag) {
    if (rank == 0) group.send(tensor, peer, tag)->wait();
    group.receive(tensor, peer, tag)->wait();
    if (rank == 1) group.send(tensor, peer, tag)->wait();
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

}  // namespace

Link measure_link(Group& group, int rank) {
  const double latency = one_way_seconds(group, rank, 1, kSmallMessages);
  const double large = one_way_seconds(group, rank, kLargeElements, kLargeMessages);
  const double bytes = static_cast<double>(kLargeElements) * sizeof(float);
  const at::Tensor figures = at::tensor({latency, bytes / std::max(large - latency, 1e-9)}, at::kDouble);
  group.all_reduce(figures);  // both workers get the mean of the two measurements
  return {.bandwidth = BytesPerSecond(figures[1].item<double>() / 2),
          .latency = Seconds(figures[0].item<double>() / 2)};
}

}  // namespace sailor::trainer
