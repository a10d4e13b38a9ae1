#include "trainer/log.h"

#include <chrono>

#include <fmt/chrono.h>
#include <unistd.h>

namespace sailor::trainer {
namespace {

std::string& process_name() {
  static std::string name = "trainer";
  return name;
}

// Values with spaces or quotes are quoted, so that a line can be taken apart again.
std::string quoted(const std::string& value) {
  if (!value.empty() && value.find_first_of(" \"=\n") == std::string::npos) return value;
  std::string text = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') text += '\\';
    text += c == '\n' ? ' ' : c;
  }
  return text + '"';
}

// One write a line: several processes share the stream.
void write_line(std::string_view level, std::string_view message, LogFields fields) {
  const auto now = std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const auto millis = now.time_since_epoch().count() % 1000;
  std::string line = fmt::format("{:%FT%T}.{:03}Z {} {}: {}", fmt::gmtime(std::chrono::system_clock::to_time_t(now)),
                                 millis, level, process_name(), message);
  for (const auto& [key, value] : fields) line += fmt::format(" {}={}", key, quoted(value));
  line += '\n';
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

void name_log(std::string name) { process_name() = std::move(name); }
void log_info(std::string_view message, LogFields fields) { write_line("info", message, fields); }
void log_warning(std::string_view message, LogFields fields) { write_line("warning", message, fields); }
void log_error(std::string_view message, LogFields fields) { write_line("error", message, fields); }

}  // namespace sailor::trainer
