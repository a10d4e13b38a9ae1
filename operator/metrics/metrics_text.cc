#include "operator/metrics/metrics_text.h"

#include <array>
#include <charconv>
#include <cmath>

#include "core/model/check.h"

namespace sailor {
namespace {

// Appends the text with a backslash before each character of `special`, and with \n for the end of a line.
void append_escaped(std::string& text, std::string_view raw, std::string_view special) {
  for (const char character : raw) {
    if (character == '\n') {
      text += "\\n";
      continue;
    }
    if (special.find(character) != std::string_view::npos) text += '\\';
    text += character;
  }
}

template <class Number>
void append_digits(std::string& text, Number value) {
  std::array<char, 32> digits{};  // more than any double or 64-bit integer needs
  text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

// The shortest text that is read as this value.
void append_value(std::string& text, double value) {
  if (std::isnan(value)) {
    text += "NaN";
  } else if (std::isinf(value)) {
    text += value > 0 ? "+Inf" : "-Inf";
  } else {
    append_digits(text, value);
  }
}

void append_value(std::string& text, std::uint64_t value) { append_digits(text, value); }

template <class Number>
void append_line(std::string& text, std::string_view name, std::string_view suffix, std::string_view labels,
                 Number value) {
  text.append(name).append(suffix);
  if (!labels.empty()) text.append("{").append(labels).append("}");
  text += ' ';
  append_value(text, value);
  text += '\n';
}

void append_bucket(std::string& text, std::string_view name, std::string_view labels,
                   const prometheus::ClientMetric::Bucket& bucket) {
  text.append(name).append("_bucket{").append(labels).append(labels.empty() ? "" : ",").append("le=\"");
  append_value(text, bucket.upper_bound);
  text.append("\"} ");
  append_value(text, bucket.cumulative_count);
  text += '\n';
}

std::string_view name_of(prometheus::MetricType type) {
  switch (type) {
    case prometheus::MetricType::Counter:
      return "counter";
    case prometheus::MetricType::Gauge:
      return "gauge";
    case prometheus::MetricType::Histogram:
      return "histogram";
    default:
      SAILOR_CHECK(false, "metrics of type {} have no text", static_cast<int>(type));
  }
}

}  // namespace

std::string label_text(const prometheus::Labels& labels) {
  std::string text;
  for (const auto& [name, value] : labels) {
    text.append(text.empty() ? "" : ",").append(name).append("=\"");
    append_escaped(text, value, "\\\"");
    text += '"';
  }
  return text;
}

void append_header(std::string& text, std::string_view name, std::string_view help, prometheus::MetricType type) {
  if (!help.empty()) {
    text.append("# HELP ").append(name).append(" ");
    append_escaped(text, help, "\\");
    text += '\n';
  }
  text.append("# TYPE ").append(name).append(" ").append(name_of(type)).append("\n");
}

void append_series(std::string& text, std::string_view name, std::string_view labels,
                   const prometheus::Counter& counter) {
  append_line(text, name, "", labels, counter.Value());
}

void append_series(std::string& text, std::string_view name, std::string_view labels, const prometheus::Gauge& gauge) {
  append_line(text, name, "", labels, gauge.Value());
}

void append_series(std::string& text, std::string_view name, std::string_view labels,
                   const prometheus::Histogram& histogram) {
  const prometheus::ClientMetric::Histogram state = histogram.Collect().histogram;
  for (const auto& bucket : state.bucket) append_bucket(text, name, labels, bucket);
  append_line(text, name, "_sum", labels, state.sample_sum);
  append_line(text, name, "_count", labels, state.sample_count);
}

}  // namespace sailor
