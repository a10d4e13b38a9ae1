// Reads single values from a registry of Prometheus.
#pragma once

#include <optional>
#include <string>

#include <prometheus/collectable.h>
#include <prometheus/labels.h>
#include <prometheus/metric_family.h>

namespace sailor::testing {

// Returns the value of the gauge or counter that has these labels, among others. Empty: there is no such series.
inline std::optional<double> value_of(const prometheus::Collectable& registry, const std::string& name,
                                      const prometheus::Labels& labels = {}) {
  for (const auto& family : registry.Collect()) {
    if (family.name != name) continue;
    for (const auto& metric : family.metric) {
      prometheus::Labels wanted = labels;
      for (const auto& label : metric.label) {
        const auto found = wanted.find(label.name);
        if (found != wanted.end() && found->second == label.value) wanted.erase(found);
      }
      if (wanted.empty()) {
        return family.type == prometheus::MetricType::Counter ? metric.counter.value : metric.gauge.value;
      }
    }
  }
  return std::nullopt;
}

// Returns the sum over all series of a gauge.
inline double sum_of(const prometheus::Collectable& registry, const std::string& name) {
  double sum = 0;
  for (const auto& family : registry.Collect()) {
    if (family.name != name) continue;
    for (const auto& metric : family.metric) sum += metric.gauge.value;
  }
  return sum;
}

}  // namespace sailor::testing
