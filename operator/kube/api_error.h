// ApiError: what the API server refused, or that it gave no answer.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <tl/expected.hpp>

#include "core/model/error.h"
#include "operator/kube/transport.h"

namespace sailor::kube {

struct ApiError {
  int status = 0;       // of HTTP; 0: there was no answer
  std::string reason;   // Status.reason: "Conflict", "AlreadyExists", "Expired" ...
  std::string message;  // a sentence with what was being done
  std::optional<std::chrono::milliseconds> retry_after;

  [[nodiscard]] bool is_not_found() const { return status == 404; }
  [[nodiscard]] bool is_conflict() const { return status == 409 && reason != "AlreadyExists"; }
  [[nodiscard]] bool already_exists() const { return status == 409 && reason == "AlreadyExists"; }
  [[nodiscard]] bool is_expired() const { return status == 410; }
  [[nodiscard]] bool is_transient() const { return status == 0 || status == 429 || status >= 500; }
};

template <class T>
using ApiResult = tl::expected<T, ApiError>;

// Reads the Status object of a refusal; a body that is none is quoted.
ApiError error_of(const HttpRequest& request, const HttpResponse& response);

}  // namespace sailor::kube
