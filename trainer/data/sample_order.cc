#include "trainer/data/sample_order.h"

#include "core/model/check.h"

namespace sailor::trainer {
namespace {

constexpr int kRounds = 4;

std::uint64_t mixed(std::uint64_t value) {  // splitmix64's finalizer
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

}  // namespace

SampleOrder::SampleOrder(std::uint64_t seed, std::int64_t windows, int global_batch_size)
    : seed_(seed),
      windows_(static_cast<std::uint64_t>(windows)),
      batch_(static_cast<std::uint64_t>(global_batch_size)) {
  SAILOR_CHECK(windows > 0 && global_batch_size > 0, "{} windows, batches of {}", windows, global_batch_size);
  while ((std::uint64_t{1} << (2 * half_bits_)) < windows_) ++half_bits_;
}

std::int64_t SampleOrder::window(std::int64_t step, int index) const {
  const std::uint64_t sample = static_cast<std::uint64_t>(step) * batch_ + static_cast<std::uint64_t>(index);
  return static_cast<std::int64_t>(shuffled(sample % windows_, sample / windows_));
}

// The network permutes a power of four, which can exceed the number of windows. Applying it again until the result is a
// window yields a permutation of the windows (cycle walking).
std::uint64_t SampleOrder::shuffled(std::uint64_t position, std::uint64_t epoch) const {
  do {
    position = scrambled(position, epoch);
  } while (position >= windows_);
  return position;
}

std::uint64_t SampleOrder::scrambled(std::uint64_t value, std::uint64_t epoch) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = value >> half_bits_;
  std::uint64_t right = value & mask;
  const std::uint64_t key = mixed(seed_ + 0x9e3779b97f4a7c15ULL * (epoch + 1));
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const std::uint64_t next = left ^ (mixed(key + (right << 8) + round) & mask);
    left = right;
    right = next;
  }
  return (left << half_bits_) | right;
}

}  // namespace sailor::trainer
