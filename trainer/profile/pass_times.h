// PassTimes: how long each layer took in each pass of a measurement, and a robust mean of it.
#pragma once

#include <vector>

#include "core/model/profile.h"

namespace sailor::trainer {

class PassTimes {
 public:
  explicit PassTimes(int layers) : layers_(static_cast<std::size_t>(layers)) {}

  void begin_pass() { passes_.emplace_back(layers_); }
  void clear() { passes_.clear(); }
  // The times of a layer in the current pass.
  [[nodiscard]] LayerTime& layer(int layer) { return passes_.back()[static_cast<std::size_t>(layer)]; }
  [[nodiscard]] int passes() const { return static_cast<int>(passes_.size()); }

  // Returns each layer's mean over the passes, without the slowest and the fastest quarter of them. A slow pass shared
  // the processor with another program; the fastest passes of a noisy machine are not representative of a step. Whole
  // passes are left out, not the median taken of each layer: with more workers than cores, layers take turns in waiting
  // for a core.
  [[nodiscard]] std::vector<LayerTime> trimmed_means() const;

 private:
  std::size_t layers_;
  std::vector<std::vector<LayerTime>> passes_;
};

}  // namespace sailor::trainer
