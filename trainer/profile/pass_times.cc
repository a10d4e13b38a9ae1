#include "trainer/profile/pass_times.h"

#include <algorithm>
#include <numeric>

#include "planner/model/check.h"

namespace sailor::trainer {
namespace {

Seconds length_of(const std::vector<LayerTime>& pass) {
  return std::accumulate(pass.begin(), pass.end(), Seconds(0), [](Seconds sum, const LayerTime& time) {
    return sum + time.forward + time.backward + time.update;
  });
}

}  // namespace

std::vector<LayerTime> PassTimes::quiet_means() const {
  SAILOR_CHECK(!passes_.empty(), "no pass over {} layers was timed", layers_);
  std::vector<std::vector<LayerTime>> quiet = passes_;
  std::ranges::sort(quiet, {}, length_of);
  quiet.resize((quiet.size() + 1) / 2);
  const auto count = static_cast<double>(quiet.size());
  std::vector<LayerTime> means(layers_);
  for (const auto& pass : quiet) {
    for (std::size_t layer = 0; layer < layers_; ++layer) {
      means[layer].forward += pass[layer].forward / count;
      means[layer].backward += pass[layer].backward / count;
      means[layer].update += pass[layer].update / count;
    }
  }
  return means;
}

}  // namespace sailor::trainer
