// The text of metrics, compared with what prometheus-cpp's own serializer writes, and with examples.
#include "operator/metrics/series_registry.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <regex>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include "operator/metrics/metrics.h"
#include "operator/metrics/metrics_route.h"
#include "tests/support/seed.h"

namespace sailor::testing {
namespace {

using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// A text of metrics, independent of the order of its series and of how numbers are written.
struct ParsedText {
  std::set<std::string> comments;
  std::map<std::string, double> values;  // by the name and the labels of the series
};

ParsedText parse(const std::string& text) {
  static const std::regex bucket("le=\"([^\"]*)\"\\}$");
  ParsedText parsed;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) {
      EXPECT_TRUE(parsed.comments.insert(line).second) << line;
      continue;
    }
    const std::size_t space = line.rfind(' ');
    std::string series = line.substr(0, space);
    std::smatch bound;
    if (std::regex_search(series, bound, bucket))
      series = fmt::format("{}le={}", bound.prefix().str(), std::strtod(bound.str(1).c_str(), nullptr));
    EXPECT_TRUE(parsed.values.emplace(series, std::strtod(line.c_str() + space, nullptr)).second) << line;
  }
  return parsed;
}

// prometheus-cpp writes 16 significant digits.
bool agrees(double exact, double oracle) {
  if (std::isnan(exact) || std::isinf(exact)) return std::isnan(exact) ? std::isnan(oracle) : exact == oracle;
  return std::abs(exact - oracle) <= 1e-15 * std::abs(exact);
}

void expect_what_prometheus_cpp_writes(const SeriesRegistry& registry) {
  const ParsedText ours = parse(registry.text());
  const ParsedText oracle = parse(prometheus::TextSerializer().Serialize(registry.Collect()));
  EXPECT_EQ(ours.comments, oracle.comments);
  ASSERT_EQ(ours.values.size(), oracle.values.size());
  for (const auto& [series, value] : oracle.values) {
    ASSERT_TRUE(ours.values.contains(series)) << series;
    EXPECT_TRUE(agrees(ours.values.at(series), value)) << series << ": " << ours.values.at(series) << ", " << value;
  }
}

class RandomSeries {
 public:
  explicit RandomSeries(std::uint32_t seed) : random_(seed) {}

  void fill(SeriesRegistry& registry) {
    for (int family = up_to(4); family >= 0; --family) {
      const std::string name = fmt::format("m{}", family);
      const std::string help = text("help \"'{},#", 20);  // prometheus-cpp escapes nothing in it
      auto& counters = registry.counter(name + "_total", help);
      auto& gauges = registry.gauge(name, help);
      auto& histograms = registry.histogram(name + "_seconds", help);
      std::vector<prometheus::Gauge*> made;
      for (int series = up_to(8); series > 0; --series) {
        counters.add(labels()).Increment(std::abs(number()));
        made.push_back(&gauges.add(labels()));
        made.back()->Set(number());
        auto& histogram = histograms.add(labels(), bounds());
        for (int count = up_to(5); count > 0; --count) histogram.Observe(number());
      }
      if (!made.empty() && up_to(1) == 1) gauges.remove(made.front());
    }
  }

 private:
  int up_to(int most) { return std::uniform_int_distribution(0, most)(random_); }

  std::string text(std::string_view characters, int longest) {
    std::string text;
    for (int length = up_to(longest); length > 0; --length)
      text += characters[static_cast<std::size_t>(up_to(static_cast<int>(characters.size()) - 1))];
    return text;
  }

  prometheus::Labels labels() {
    prometheus::Labels labels;
    for (int count = up_to(3); count > 0; --count) labels[fmt::format("l{}", up_to(5))] = text("ab\"\\\n{}=, #é", 6);
    return labels;
  }

  prometheus::Histogram::BucketBoundaries bounds() {
    std::set<double> sorted;
    for (int count = up_to(5); count > 0; --count) sorted.insert(up_to(1000000) / 1000.0);
    return {sorted.begin(), sorted.end()};
  }

  double number() {
    switch (up_to(5)) {
      case 0:
        return std::array{0.0, -0.0, kNaN, kInfinity, -kInfinity}.at(static_cast<std::size_t>(up_to(4)));
      case 1:
        return up_to(1000000);
      case 2:
        return std::ldexp(1.0 + up_to(1000) / 7.0, up_to(2000) - 1000);
      default:
        return std::uniform_real_distribution(-1000.0, 1000.0)(random_);
    }
  }

  std::mt19937 random_;
};

TEST(SeriesRegistry, WritesWhatPrometheusCppWrites) {
  const std::uint32_t seed = test_seed();
  for (std::uint32_t round = 0; round < 300; ++round) {
    SeriesRegistry registry;
    RandomSeries(seed + round).fill(registry);
    expect_what_prometheus_cpp_writes(registry);
    if (::testing::Test::HasFailure()) FAIL() << "in round " << round;
  }
}

TEST(SeriesRegistry, AHistogramHasItsBucketsItsSumAndItsCount) {
  SeriesRegistry registry;
  const prometheus::Histogram::BucketBoundaries bounds = {0.001, 0.25, 10, 900};
  registry.histogram("seconds", "Time.").add({{"name", "a"}}, bounds).Observe(2);
  EXPECT_EQ(registry.text(),
            "# HELP seconds Time.\n"
            "# TYPE seconds histogram\n"
            "seconds_bucket{name=\"a\",le=\"0.001\"} 0\n"
            "seconds_bucket{name=\"a\",le=\"0.25\"} 0\n"
            "seconds_bucket{name=\"a\",le=\"10\"} 1\n"
            "seconds_bucket{name=\"a\",le=\"900\"} 1\n"
            "seconds_bucket{name=\"a\",le=\"+Inf\"} 1\n"
            "seconds_sum{name=\"a\"} 2\n"
            "seconds_count{name=\"a\"} 1\n");
}

TEST(SeriesRegistry, WritesEveryNumberSoThatItIsReadAsTheSame) {
  std::mt19937_64 random(test_seed());
  SeriesRegistry registry;
  auto& gauge = registry.gauge("g", "A number.").add({});
  for (int i = 0; i < 10000; ++i) {
    const auto number = std::bit_cast<double>(random());
    if (std::isnan(number)) continue;
    gauge.Set(number);
    const std::string text = registry.text();
    const double read = std::strtod(text.c_str() + text.rfind(' '), nullptr);
    ASSERT_EQ(std::bit_cast<std::uint64_t>(read), std::bit_cast<std::uint64_t>(number)) << text;
  }
}

TEST(SeriesRegistry, WritesNonFiniteNumbersAsPrometheusReadsThem) {
  SeriesRegistry registry;
  auto& family = registry.gauge("g", "");
  family.add({{"a", "1"}}).Set(kNaN);
  family.add({{"a", "2"}}).Set(kInfinity);
  family.add({{"a", "3"}}).Set(-kInfinity);
  EXPECT_THAT(registry.text(), HasSubstr("g{a=\"1\"} NaN\n"));
  EXPECT_THAT(registry.text(), HasSubstr("g{a=\"2\"} +Inf\n"));
  EXPECT_THAT(registry.text(), HasSubstr("g{a=\"3\"} -Inf\n"));
}

TEST(SeriesRegistry, EscapesHelpAndLabels) {
  SeriesRegistry registry;
  registry.counter("c", "one\\\n\"two\"").add({{"a", "x\"\\\ny"}}).Increment();
  EXPECT_EQ(registry.text(), "# HELP c one\\\\\\n\"two\"\n# TYPE c counter\nc{a=\"x\\\"\\\\\\ny\"} 1\n");
}

TEST(SeriesRegistry, AMetricWithoutSeriesIsNotWritten) {
  SeriesRegistry registry;
  auto& family = registry.gauge("g", "A number.");
  EXPECT_EQ(registry.text(), "");
  auto& series = family.add({{"a", "1"}});
  EXPECT_EQ(&family.add({{"a", "1"}}), &series);
  family.remove(&series);
  EXPECT_EQ(registry.text(), "");
}

TEST(SeriesRegistry, RefusesASecondMetricOfAName) {
  SeriesRegistry registry;
  registry.gauge("g", "");
  EXPECT_THROW(registry.gauge("g", ""), std::invalid_argument);
  EXPECT_THROW(registry.counter("g", ""), std::invalid_argument);
}

TEST(MetricsRoute, CompressesForClientsThatAcceptItOnly) {
  Metrics metrics;
  metrics.waited(0.5);
  const net::Route route = metrics_route(metrics);
  const net::HttpAnswer plain = route.handle({.path = "/metrics", .body = ""});
  EXPECT_EQ(plain.content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(plain.content_encoding, "");
  EXPECT_THAT(plain.body, HasSubstr("workqueue_queue_duration_seconds_count{name=\"trainingjob\"} 1\n"));
  const net::HttpAnswer compressed = route.handle({.path = "/metrics", .body = "", .accepts_gzip = true});
  EXPECT_EQ(compressed.content_encoding, "gzip");
  EXPECT_LT(compressed.body.size(), plain.body.size());
}

}  // namespace
}  // namespace sailor::testing
