#include "simulator/layer_times.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "simulator/analytic_profile.h"

namespace sailor {
namespace {

using Measured = std::map<ProfilePoint, std::vector<LayerTime>>;

LayerTimes analytic(const JobSpec& job, const AcceleratorSpec& accelerator, ProfilePoint point) {
  LayerTimes times;
  for (int layer = 0; layer < job.model.layer_count(); ++layer) {
    times.layers.push_back(analytic_layer_time(job.model, job.training, accelerator, point, layer));
  }
  times.note = fmt::format("analytic profile of {} on {}: computed from its data sheet, nothing was measured",
                           job.model.name, accelerator.name.str());
  return times;
}

Seconds mix(Seconds low, Seconds high, double weight) { return low * (1 - weight) + high * weight; }

std::vector<LayerTime> mix(const std::vector<LayerTime>& low, const std::vector<LayerTime>& high, double weight) {
  std::vector<LayerTime> layers(std::min(low.size(), high.size()));
  for (std::size_t i = 0; i < layers.size(); ++i) {
    layers[i] = {mix(low[i].forward, high[i].forward, weight), mix(low[i].backward, high[i].backward, weight),
                 mix(low[i].update, high[i].update, weight)};
  }
  return layers;
}

// The measured points just below and above `point` in the member `by`, among those with the same member `fixed`.
struct Neighbours {
  const Measured::value_type* below = nullptr;
  const Measured::value_type* above = nullptr;
};

Neighbours neighbours(const Measured& measured, ProfilePoint point, int ProfilePoint::*by, int ProfilePoint::*fixed) {
  Neighbours found;
  for (const auto& entry : measured) {
    if (entry.first.*fixed != point.*fixed) continue;
    if (entry.first.*by < point.*by && (found.below == nullptr || found.below->first.*by < entry.first.*by)) {
      found.below = &entry;
    }
    if (entry.first.*by > point.*by && (found.above == nullptr || found.above->first.*by > entry.first.*by)) {
      found.above = &entry;
    }
  }
  return found;
}

// Interpolates linearly in the microbatch size between the two nearest measurements of the same tensor-parallel size,
// or else in 1 / tensor_parallel, which divides a part of the work, between the nearest measurements of the same
// microbatch size. Nothing outside the measured range.
std::optional<LayerTimes> interpolated(const Measured& measured, ProfilePoint point) {
  const auto sizes = neighbours(measured, point, &ProfilePoint::microbatch_size, &ProfilePoint::tensor_parallel);
  if (sizes.below != nullptr && sizes.above != nullptr) {
    const double weight = static_cast<double>(point.microbatch_size - sizes.below->first.microbatch_size) /
                          (sizes.above->first.microbatch_size - sizes.below->first.microbatch_size);
    return LayerTimes{mix(sizes.below->second, sizes.above->second, weight), "sizes"};
  }
  const auto tensor_parallel_sizes =
      neighbours(measured, point, &ProfilePoint::tensor_parallel, &ProfilePoint::microbatch_size);
  if (tensor_parallel_sizes.below == nullptr || tensor_parallel_sizes.above == nullptr) return std::nullopt;
  const double few = 1.0 / tensor_parallel_sizes.below->first.tensor_parallel;
  const double many = 1.0 / tensor_parallel_sizes.above->first.tensor_parallel;
  const double weight = (few - 1.0 / point.tensor_parallel) / (few - many);
  return LayerTimes{mix(tensor_parallel_sizes.below->second, tensor_parallel_sizes.above->second, weight),
                    "tensor_parallel_sizes of tensor parallelism"};
}

const Measured::value_type& nearest(const Measured& measured, ProfilePoint point) {
  // The tensor-parallel size counts more: how well groups scale varies more than how batches do.
  const auto distance = [&](const ProfilePoint& other) {
    const double tensor_parallel =
        std::abs(std::log2(static_cast<double>(other.tensor_parallel) / point.tensor_parallel));
    const double size = std::abs(std::log2(static_cast<double>(other.microbatch_size) / point.microbatch_size));
    return 100 * tensor_parallel + size;
  };
  const Measured::value_type* best = &*measured.begin();
  for (const auto& entry : measured) {
    if (distance(entry.first) < distance(best->first)) best = &entry;
  }
  return *best;
}

Seconds scaled(Seconds target, Seconds reference, Seconds measured) {
  return reference.value() > 0 ? target * (measured / reference) : measured;
}

// The least time of a layer at this point, at the rate of any microbatch that is at least as large.
LayerTime at_best_rate(const Measured& measured, ProfilePoint point, std::size_t layer) {
  LayerTime best = measured.at(point)[layer];
  for (const auto& [other, times] : measured) {
    if (other.tensor_parallel != point.tensor_parallel || other.microbatch_size < point.microbatch_size) continue;
    const double scale = static_cast<double>(point.microbatch_size) / other.microbatch_size;
    best.forward = std::min(best.forward, times[layer].forward * scale);
    best.backward = std::min(best.backward, times[layer].backward * scale);
  }
  return best;
}

}  // namespace

ModelProfile with_launches_exposed(ModelProfile profile, double exposed) {
  const Measured measured = profile.times;
  for (auto& [point, layers] : profile.times) {
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
      const LayerTime best = at_best_rate(measured, point, layer);
      layers[layer].forward = mix(best.forward, layers[layer].forward, exposed);
      layers[layer].backward = mix(best.backward, layers[layer].backward, exposed);
    }
  }
  return profile;
}

LayerTimes layer_times(const JobSpec& job, const AcceleratorSpec& accelerator, const ModelProfile* profile,
                       ProfilePoint point) {
  LayerTimes estimated = analytic(job, accelerator, point);
  if (profile == nullptr || profile->times.empty()) return estimated;
  if (const auto exact = profile->times.find(point); exact != profile->times.end()) {
    return {exact->second, ""};
  }
  if (auto between = interpolated(profile->times, point); between) {
    between->note = fmt::format("{} on {}: times for microbatches of {} are interpolated between measured {}",
                                job.model.name, accelerator.name.str(), point.microbatch_size, between->note);
    return *std::move(between);
  }
  const auto& [known, measured] = nearest(profile->times, point);
  const LayerTimes reference = analytic(job, accelerator, known);
  for (std::size_t layer = 0; layer < estimated.layers.size(); ++layer) {
    LayerTime& time = estimated.layers[layer];
    const LayerTime& base = reference.layers[layer];
    time = {scaled(time.forward, base.forward, measured[layer].forward),
            scaled(time.backward, base.backward, measured[layer].backward),
            scaled(time.update, base.update, measured[layer].update)};
  }
  estimated.note = fmt::format(
      "{} on {}: microbatches of {} on {} GPUs are outside the measured range; analytic times scaled to the "
      "measurement at {} on {}",
      job.model.name, accelerator.name.str(), point.microbatch_size, point.tensor_parallel, known.microbatch_size,
      known.tensor_parallel);
  return estimated;
}

}  // namespace sailor
