#include "operator/log.h"

#include <spdlog/sinks/stdout_sinks.h>

namespace sailor {
namespace {

// As logfmt has it: quoted if it has spaces, quotes or equal signs; control characters escaped.
std::string quoted(std::string_view value) {
  const bool is_plain = !value.empty() && value.find_first_of(" \"=\n\t\\") == std::string_view::npos;
  if (is_plain) return std::string(value);
  std::string text = "\"";
  for (const char c : value) {
    if (c == '\n') {
      text += "\\n";
    } else if (c == '"' || c == '\\') {
      text += {'\\', c};
    } else {
      text += c;
    }
  }
  return text + "\"";
}

}  // namespace

void start_logging(const std::string& level) {
  auto logger = std::make_shared<spdlog::logger>("operator", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("time=%Y-%m-%dT%H:%M:%S.%eZ level=%l %v", spdlog::pattern_time_type::utc);
  logger->set_level(spdlog::level::from_str(level));
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

std::string log_text(std::string_view message, LogFields fields) {
  std::string text = "msg=" + quoted(message);
  for (const auto& [key, value] : fields) text += " " + std::string(key) + "=" + quoted(value);
  return text;
}

void log_line(spdlog::level::level_enum level, std::string_view message, LogFields fields) {
  if (spdlog::should_log(level)) spdlog::log(level, "{}", log_text(message, fields));
}

}  // namespace sailor
