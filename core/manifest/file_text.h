// The texts of the files that users name. "-" is the standard input.
#pragma once

#include <filesystem>
#include <string>

#include "core/model/error.h"

namespace sailor {

std::string name_in_errors(const std::filesystem::path& file);  // "standard input" for "-"

// Returns the error that a file has the wrong content; `what` says what is wrong and what to do.
Error error_in(const std::filesystem::path& file, const std::string& what);

// Without the byte order mark with which some programs begin a text.
Result<std::string> read_text(const std::filesystem::path& file);

}  // namespace sailor
