// ProcessSeries: the metrics of the operator's process, by the names that every Prometheus client library uses.
#pragma once

#include "operator/metrics/series_registry.h"

namespace sailor {

class ProcessSeries {
 public:
  explicit ProcessSeries(SeriesRegistry& registry);

  void update();

 private:
  prometheus::Gauge& resident_memory_;
  prometheus::Gauge& virtual_memory_;
  prometheus::Gauge& open_files_;
  prometheus::Gauge& most_files_;
  prometheus::Gauge& start_time_;
  prometheus::Counter& cpu_;
};

}  // namespace sailor
