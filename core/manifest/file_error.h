#pragma once

#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "core/model/error.h"

namespace sailor {

// Returns the error that a file has the wrong content; `what` says what is wrong and what to do.
inline Error error_in(const std::filesystem::path& file, const std::string& what) {
  return {ErrorCode::kInvalidArgument, fmt::format("{}: {}", file.string(), what)};
}

}  // namespace sailor
