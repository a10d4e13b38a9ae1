// Log lines: one constant message with key=value pairs, each event once.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include <spdlog/spdlog.h>

namespace sailor {

using LogFields = std::initializer_list<std::pair<std::string_view, std::string>>;

// time=... level=info msg="job planned" job=default/opt: to stderr, at or above the level ("debug", "info", "warn"
// ...).
void start_logging(const std::string& level);
void log_line(spdlog::level::level_enum level, std::string_view message, LogFields fields);
std::string log_text(std::string_view message, LogFields fields);  // without time and level

}  // namespace sailor
