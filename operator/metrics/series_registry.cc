#include "operator/metrics/series_registry.h"

namespace sailor {

SeriesFamily<prometheus::Counter>& SeriesRegistry::counter(const std::string& name, const std::string& help) {
  return counters_.emplace_back(prometheus::BuildCounter().Name(name).Help(help).Register(registry_), help);
}

SeriesFamily<prometheus::Gauge>& SeriesRegistry::gauge(const std::string& name, const std::string& help) {
  return gauges_.emplace_back(prometheus::BuildGauge().Name(name).Help(help).Register(registry_), help);
}

SeriesFamily<prometheus::Histogram>& SeriesRegistry::histogram(const std::string& name, const std::string& help) {
  return histograms_.emplace_back(prometheus::BuildHistogram().Name(name).Help(help).Register(registry_), help);
}

std::string SeriesRegistry::text() const {
  std::string text;
  for (const auto& family : counters_) family.append_to(text);
  for (const auto& family : gauges_) family.append_to(text);
  for (const auto& family : histograms_) family.append_to(text);
  return text;
}

}  // namespace sailor
