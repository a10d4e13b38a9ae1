#include "planner/replay/sampled_trace.h"

#include <charconv>
#include <cmath>
#include <functional>
#include <optional>

#include <fmt/format.h>

#include "planner/replay/json_text.h"

namespace sailor {
namespace {

using Json = nlohmann::json;

constexpr double kMostSeconds = 1e10;
constexpr double kMostAmount = 1e8;

bool is_between(const Json& value, double low, double high) {
  return value.is_number() && value.get<double>() >= low && value.get<double>() <= high;
}
bool is_whole(double value) { return std::floor(value) == value; }
bool is_amount(double value) { return value >= 0 && value <= kMostAmount && is_whole(value); }
bool is_amount(const Json& value) { return value.is_number() && is_amount(value.get<double>()); }
bool is_price(const Json& value) { return is_between(value, 0, kMostAmount); }

void add_change(Trace& trace, Seconds at, int amount) {
  if (trace.changes.empty() || trace.changes.back().amount != amount) trace.changes.push_back({at, amount});
}

struct Sample {
  Seconds at;
  double value = 0;
};

Trace trace_of(Trace::Unit unit, const std::vector<Sample>& samples) {
  Trace trace{.unit = unit, .changes = {}, .end = {}};
  if (samples.front().at > Seconds(0)) add_change(trace, Seconds(0), 0);
  for (const Sample& sample : samples) add_change(trace, sample.at, static_cast<int>(sample.value));
  const Seconds last = samples.back().at;
  trace.end = last + (last - samples[samples.size() - 2].at);
  return trace;
}

struct Field {
  std::string name;
  std::string meaning;  // "a count of GPUs"
  std::function<bool(const Json&)> is_valid;
};

// Reads [{"Time": seconds, FIELD: number}, ...].
Result<std::vector<Sample>> json_samples(const JsonText& text, const Field& field) {
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < text.root().size(); ++i) {
    const std::string index = std::to_string(i);
    const auto wrong = [&](const std::string& key, const std::string& what) {
      return text.error_at({index, key}, fmt::format("[{}].{}: {}", i, key, what));
    };
    const Json& entry = text.root()[i];
    if (!entry.is_object()) {
      return text.error_at({index}, fmt::format("[{}]: is not an object with Time and {}", i, field.name));
    }
    const Json time = entry.value("Time", Json());
    const Json value = entry.value(field.name, Json());
    if (!is_between(time, 0, kMostSeconds)) return wrong("Time", "is not a number of seconds, at least 0");
    if (!field.is_valid(value)) return wrong(field.name, "is not " + field.meaning);
    const Seconds at(time.get<double>());
    if (i > 0 && at <= samples.back().at) return wrong("Time", "is not after the one before it");
    samples.push_back({at, value.get<double>()});
  }
  return samples;
}

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Reads the lines of a CSV text one by one, and remembers where the current one is.
class CsvReader {
 public:
  explicit CsvReader(const std::string& text) : text_(text) {}

  // Moves to the next line. Returns false at the end of the text.
  bool next() {
    begin_ = end_;
    if (begin_ >= text_.size()) return false;
    const std::size_t newline = text_.find('\n', begin_);
    end_ = newline == std::string::npos ? text_.size() : newline + 1;
    is_complete_ = newline != std::string::npos;
    return true;
  }
  [[nodiscard]] std::string_view line() const {
    std::string_view line = std::string_view(text_).substr(begin_, end_ - begin_);
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
    return line;
  }
  [[nodiscard]] bool is_complete() const { return is_complete_; }
  [[nodiscard]] tl::unexpected<Error> error_at(std::size_t column, const std::string& what) const {
    return error_at_offset(text_, begin_ + column, what);
  }

 private:
  const std::string& text_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool is_complete_ = false;
};

Result<Sample> csv_sample(const CsvReader& reader) {
  const std::string_view line = reader.line();
  const std::size_t comma = line.find(',');
  if (comma == std::string_view::npos) return reader.error_at(line.size(), "the line ends before its second column");
  const auto time = number_in(line.substr(0, comma));
  if (!time || *time < 0 || *time > kMostSeconds) return reader.error_at(0, "is not a number of seconds, at least 0");
  const auto value = number_in(line.substr(comma + 1));
  if (!value || !is_amount(*value)) return reader.error_at(comma + 1, "is not a count");
  return Sample{Seconds(*time), *value};
}

}  // namespace

Result<Trace> counts_at_gaps(const std::string& text) {
  const auto parsed = JsonText::parse(text);
  if (!parsed) return tl::unexpected(parsed.error());
  const Json metadata = parsed->root().value("metadata", Json::object());
  const Json gap = metadata.is_object() ? metadata.value("gap_seconds", Json()) : Json();
  if (!is_between(gap, 1e-3, kMostSeconds)) {
    return parsed->error_at({"metadata", "gap_seconds"}, "metadata.gap_seconds: is not a number of seconds above zero");
  }
  const Json data = parsed->root().value("data", Json());
  if (!data.is_array() || data.empty()) return parsed->error_at({"data"}, "data: is not a list of counts");
  Trace trace;
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (!is_amount(data[i])) {
      return parsed->error_at({"data", std::to_string(i)}, fmt::format("data[{}]: is not a count of nodes", i));
    }
    add_change(trace, Seconds(gap.get<double>() * static_cast<double>(i)), data[i].get<int>());
  }
  trace.end = Seconds(gap.get<double>() * static_cast<double>(data.size()));
  return trace;
}

Result<Trace> samples_of_gpus(const std::string& text) {
  const auto parsed = JsonText::parse(text);
  if (!parsed) return tl::unexpected(parsed.error());
  const auto samples =
      json_samples(*parsed, {"GPUs", "a count of GPUs", [](const Json& value) { return is_amount(value); }});
  if (!samples) return tl::unexpected(samples.error());
  if (samples->size() < 2) return parsed->error_at({}, "[1]: is missing; a trace needs at least two samples");
  return trace_of(Trace::Unit::kGpus, *samples);
}

Result<Trace> samples_of_csv(const std::string& text) {
  CsvReader reader(text);
  reader.next();
  const bool counts_nodes = reader.line() == "seconds,nodes";
  if (!counts_nodes && reader.line() != "seconds,gpus") {
    return reader.error_at(0, "is neither JSON nor the header of a CSV trace: seconds,nodes or seconds,gpus");
  }
  std::vector<Sample> samples;
  while (reader.next()) {
    const auto sample = csv_sample(reader);
    if (!sample) return tl::unexpected(sample.error());
    if (!samples.empty() && sample->at <= samples.back().at) {
      return reader.error_at(0, "the time is not after the one above it");
    }
    samples.push_back(*sample);
  }
  if (samples.size() < 2) {
    return error_at_offset(text, text.size(), "the trace ends here; it needs at least two samples");
  }
  // A number may lack digits if its line does not end.
  if (!reader.is_complete()) {
    return error_at_offset(text, text.size(), "the last line has no end; the file seems to be truncated");
  }
  return trace_of(counts_nodes ? Trace::Unit::kNodes : Trace::Unit::kGpus, samples);
}

Result<std::vector<PriceChange>> samples_of_prices(const std::string& text) {
  const auto parsed = JsonText::parse(text);
  if (!parsed) return tl::unexpected(parsed.error());
  if (!parsed->root().is_array() || parsed->root().empty()) {
    return parsed->error_at({}, "is not a list of objects with Time and Price");
  }
  const auto samples = json_samples(*parsed, {"Price", "a price in US dollars per GPU and hour, at least 0", is_price});
  if (!samples) return tl::unexpected(samples.error());
  std::vector<PriceChange> prices;
  for (const Sample& sample : *samples) prices.push_back({sample.at, DollarsPerHour(sample.value)});
  return prices;
}

}  // namespace sailor
