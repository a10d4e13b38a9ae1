// The text in which Prometheus reads metrics, format 0.0.4:
// https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
#pragma once

#include <string>
#include <string_view>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/labels.h>
#include <prometheus/metric_type.h>

namespace sailor {

inline constexpr const char* kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

std::string label_text(const prometheus::Labels& labels);  // without braces: a="1",b="2"

// `type` is Counter, Gauge or Histogram.
void append_header(std::string& text, std::string_view name, std::string_view help, prometheus::MetricType type);

// `labels` is what label_text() returns for the series.
void append_series(std::string& text, std::string_view name, std::string_view labels,
                   const prometheus::Counter& counter);
void append_series(std::string& text, std::string_view name, std::string_view labels, const prometheus::Gauge& gauge);
void append_series(std::string& text, std::string_view name, std::string_view labels,
                   const prometheus::Histogram& histogram);

}  // namespace sailor
