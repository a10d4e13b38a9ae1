// The man page of the command line.
#pragma once

#include <string>
#include <string_view>

#include "cli/command_help.h"

namespace sailor::cli {

// Returns the page in roff, as `man -l` shows it.
std::string manual_page(const CommandHelp& program, std::string_view version);

}  // namespace sailor::cli
