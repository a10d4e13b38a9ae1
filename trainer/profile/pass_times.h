// PassTimes: what each layer took in each pass of a measurement, and what is to be believed of it.
#pragma once

#include <vector>

#include "core/model/profile.h"

namespace sailor::trainer {

class PassTimes {
 public:
  explicit PassTimes(int layers) : layers_(static_cast<std::size_t>(layers)) {}

  void begin_pass() { passes_.emplace_back(layers_); }
  void forget() { passes_.clear(); }
  [[nodiscard]] LayerTime& of(int layer) { return passes_.back()[static_cast<std::size_t>(layer)]; }  // this pass's
  [[nodiscard]] int passes() const { return static_cast<int>(passes_.size()); }

  // Each layer's mean over the passes of middling length: where something else had the processor a pass says too much,
  // and the quickest of a noisy machine say what no step is made of. Whole passes and means, not each layer's median:
  // with more workers than cores, layers wait for a core by turns.
  [[nodiscard]] std::vector<LayerTime> typical() const;

 private:
  std::size_t layers_;
  std::vector<std::vector<LayerTime>> passes_;
};

}  // namespace sailor::trainer
