// The trainer's log: one constant message with key=value pairs a line, on stderr.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace sailor::trainer {

using LogFields = std::initializer_list<std::pair<std::string_view, std::string>>;

void name_log(std::string name);  // of this process, in front of its lines: "agent", "worker 3"
void log_info(std::string_view message, LogFields fields = {});
void log_warning(std::string_view message, LogFields fields = {});
void log_error(std::string_view message, LogFields fields = {});

}  // namespace sailor::trainer
