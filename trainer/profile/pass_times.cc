#include "trainer/profile/pass_times.h"

#include <algorithm>
#include <numeric>

#include "core/model/check.h"

namespace sailor::trainer {
namespace {

Seconds length_of(const std::vector<LayerTime>& pass) {
  return std::accumulate(pass.begin(), pass.end(), Seconds(0), [](Seconds sum, const LayerTime& time) {
    return sum + time.forward + time.backward + time.update;
  });
}

// Returns the passes in the order of their length, without the quarter at either end. Of 3 to 7 passes one is left out
// at either end.
std::vector<std::vector<LayerTime>> middle_of(std::vector<std::vector<LayerTime>> passes) {
  std::ranges::sort(passes, {}, length_of);
  const std::size_t count = passes.size();
  const auto dropped = static_cast<std::ptrdiff_t>(count < 3 ? 0 : std::max<std::size_t>(1, count / 4));
  return {passes.begin() + dropped, passes.end() - dropped};
}

}  // namespace

std::vector<LayerTime> PassTimes::trimmed_means() const {
  SAILOR_CHECK(!passes_.empty(), "no pass over {} layers was timed", layers_);
  const auto middle = middle_of(passes_);
  const auto count = static_cast<double>(middle.size());
  std::vector<LayerTime> means(layers_);
  for (const auto& pass : middle) {
    for (std::size_t layer = 0; layer < layers_; ++layer) {
      means[layer].forward += pass[layer].forward / count;
      means[layer].backward += pass[layer].backward / count;
      means[layer].update += pass[layer].update / count;
    }
  }
  return means;
}

}  // namespace sailor::trainer
