#include "core/log/log.h"

#include <array>
#include <atomic>
#include <cctype>

#include <fmt/chrono.h>
#include <unistd.h>

namespace sailor {
namespace {

struct Process {
  std::string name = "sailor";
  std::atomic<LogLevel> level = LogLevel::kInfo;
};

Process& this_process() {
  static Process process;
  return process;
}

std::string_view name_of(LogLevel level) {
  static constexpr std::array<std::string_view, 4> kNames = {"debug", "info", "warning", "error"};
  return kNames.at(static_cast<std::size_t>(level));
}

bool is_plain(unsigned char c) { return c > ' ' && c != '"' && c != '=' && c != '\\' && c != 0x7F; }

// Values with spaces, quotes, equal signs or control characters are quoted, so that a line can be taken apart again.
void append_value(std::string& line, std::string_view value) {
  bool needs_quotes = value.empty();
  for (const char c : value) needs_quotes = needs_quotes || !is_plain(static_cast<unsigned char>(c));
  if (!needs_quotes) {
    line += value;
    return;
  }
  line += '"';
  for (const char c : value) {
    if (c == '"' || c == '\\') {
      line += {'\\', c};
    } else if (c == '\n') {
      line += "\\n";
    } else if (std::iscntrl(static_cast<unsigned char>(c)) != 0) {
      line += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      line += c;
    }
  }
  line += '"';
}

}  // namespace

std::optional<LogLevel> parse_log_level(std::string_view text) {
  if (text == "trace" || text == "debug") return LogLevel::kDebug;
  if (text == "info") return LogLevel::kInfo;
  if (text == "warn") return LogLevel::kWarning;
  if (text == "error") return LogLevel::kError;
  return std::nullopt;
}

void start_log(std::string process, LogLevel level) {
  this_process().name = std::move(process);
  this_process().level = level;
}

void log_event(LogLevel level, std::string_view message, LogFields fields) {
  const Process& process = this_process();
  if (level < process.level.load(std::memory_order_relaxed)) return;
  const std::string line = log_line({std::chrono::system_clock::now(), level, process.name, message}, fields);
  // One call for the line, so that lines of processes that share the stream do not mix.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

void log_debug(std::string_view message, LogFields fields) { log_event(LogLevel::kDebug, message, fields); }
void log_info(std::string_view message, LogFields fields) { log_event(LogLevel::kInfo, message, fields); }
void log_warning(std::string_view message, LogFields fields) { log_event(LogLevel::kWarning, message, fields); }
void log_error(std::string_view message, LogFields fields) { log_event(LogLevel::kError, message, fields); }

std::string log_line(const LogEvent& event, LogFields fields) {
  const auto millis = std::chrono::time_point_cast<std::chrono::milliseconds>(event.time).time_since_epoch().count();
  std::string line = fmt::format(
      "time={:%FT%T}.{:03}Z level={} process=", fmt::gmtime(std::chrono::system_clock::to_time_t(event.time)),
      millis % 1000, name_of(event.level));
  append_value(line, event.process);
  line += " msg=";
  append_value(line, event.message);
  for (const auto& [key, value] : fields) {
    line += fmt::format(" {}=", key);
    append_value(line, value);
  }
  return line + '\n';
}

}  // namespace sailor
