// SeriesRegistry: a prometheus::Registry that also writes all its series as text, which takes a fifth of the time of
// prometheus-cpp's own serializer (docs/decisions/0049-metrics-are-served-by-our-own-server.md).
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <prometheus/collectable.h>
#include <prometheus/family.h>
#include <prometheus/registry.h>

#include "operator/metrics/metrics_text.h"

namespace sailor {

// The series of a metric. It keeps the text of their labels, which never changes. Any thread may call it.
template <class T>
class SeriesFamily {
 public:
  SeriesFamily(prometheus::Family<T>& family, std::string help) : family_(family), help_(std::move(help)) {}

  // Returns the series with these labels, and makes it if there is none. `arguments` are those of the constructor of T.
  template <class... Arguments>
  T& add(const prometheus::Labels& labels, const Arguments&... arguments) {
    const std::scoped_lock lock(mutex_);
    T& series = family_.Add(labels, arguments...);
    std::string& text = labels_[&series];
    if (text.empty()) text = label_text(labels);
    return series;
  }

  void remove(T* series) {
    const std::scoped_lock lock(mutex_);
    labels_.erase(series);
    family_.Remove(series);
  }

  // Appends nothing if there is no series.
  void append_to(std::string& text) const {
    const std::scoped_lock lock(mutex_);
    if (labels_.empty()) return;
    append_header(text, family_.GetName(), help_, T::metric_type);
    for (const auto& [series, labels] : labels_) append_series(text, family_.GetName(), labels, *series);
  }

 private:
  prometheus::Family<T>& family_;
  const std::string help_;
  mutable std::mutex mutex_;
  std::map<const T*, std::string> labels_;  // label_text() of each series
};

// Metrics are made before other threads use it.
class SeriesRegistry : public prometheus::Collectable {
 public:
  // Throw std::invalid_argument if there is a metric of this name.
  SeriesFamily<prometheus::Counter>& counter(const std::string& name, const std::string& help);
  SeriesFamily<prometheus::Gauge>& gauge(const std::string& name, const std::string& help);
  SeriesFamily<prometheus::Histogram>& histogram(const std::string& name, const std::string& help);

  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override { return registry_.Collect(); }

 private:
  prometheus::Registry registry_{prometheus::Registry::InsertBehavior::Throw};
  std::deque<SeriesFamily<prometheus::Counter>> counters_;
  std::deque<SeriesFamily<prometheus::Gauge>> gauges_;
  std::deque<SeriesFamily<prometheus::Histogram>> histograms_;
};

// Sets a counter to a total that is counted elsewhere, unless that is lower.
inline void raise_to(prometheus::Counter& counter, double value) {
  if (value > counter.Value()) counter.Increment(value - counter.Value());
}

}  // namespace sailor
