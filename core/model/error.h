// Error and Result: failures as values, for callers that handle them.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

namespace sailor {

enum class ErrorCode { kInvalidArgument, kNotFound, kConflict, kUnavailable, kInfeasible, kInternal, kForbidden };

std::string_view to_string(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;  // a sentence that names the action, its object and a remedy

  // Returns the same error, prefixed with the caller's activity: "planning job default/opt: no profile of ...".
  Error within(std::string_view activity) && {
    message = std::string(activity) + ": " + message;
    return std::move(*this);
  }
  friend bool operator==(const Error&, const Error&) = default;
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(ErrorCode code, std::string message) {
  return tl::unexpected(Error{code, std::move(message)});
}

}  // namespace sailor
