// The log of all programs: one line for each event, on stderr, as key=value fields (logfmt). The message is constant,
// and what differs from event to event is in the fields:
//   time=2026-11-22T20:15:07.042Z level=info process=worker-3 msg="generation begins" generation=4 step=120
#pragma once

#include <chrono>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sailor {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// "trace", "debug", "info", "warn" or "error"; nothing for any other text. Nothing is logged below debug.
std::optional<LogLevel> parse_log_level(std::string_view text);

using LogFields = std::initializer_list<std::pair<std::string_view, std::string>>;

// Call it before the process has a second thread. Several processes of a pod share stderr, so each line names its own:
// "agent", "worker-3". Lines below the level are not written.
void start_log(std::string process, LogLevel level = LogLevel::kInfo);

void log_event(LogLevel level, std::string_view message, LogFields fields = {});
void log_debug(std::string_view message, LogFields fields = {});
void log_info(std::string_view message, LogFields fields = {});
void log_warning(std::string_view message, LogFields fields = {});
void log_error(std::string_view message, LogFields fields = {});

// An event as it is written, with its end of line.
struct LogEvent {
  std::chrono::system_clock::time_point time;
  LogLevel level = LogLevel::kInfo;
  std::string_view process;
  std::string_view message;
};
std::string log_line(const LogEvent& event, LogFields fields);

}  // namespace sailor
