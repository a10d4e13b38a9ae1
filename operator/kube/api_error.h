// ApiError: why a request to the API server failed. The server refused it or gave no readable answer, or the operator
// did not send it because it may not write.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <tl/expected.hpp>

#include "core/model/error.h"
#include "operator/kube/transport.h"

namespace sailor::kube {

struct ApiError {
  int status = 0;                                        // the HTTP status; 0: there was no answer
  std::string reason;                                    // Status.reason: "Conflict", "AlreadyExists", "Expired" ...
  std::string message;                                   // says which request failed, and why
  std::optional<std::chrono::milliseconds> retry_after;  // the server asks to wait this long before the next attempt
  std::string server_message = {};                       // only what the server said; empty: there was no answer

  [[nodiscard]] bool is_not_found() const { return status == 404; }
  [[nodiscard]] bool is_conflict() const { return status == 409 && reason != "AlreadyExists"; }
  [[nodiscard]] bool already_exists() const { return status == 409 && reason == "AlreadyExists"; }
  [[nodiscard]] bool is_expired() const { return status == 410; }
  // Returns whether the server refuses the content of the request, so that repeating it at once is useless. This
  // includes an admission webhook that does not answer.
  [[nodiscard]] bool is_refusal() const;
  [[nodiscard]] bool is_transient() const { return status == 0 || status == 429 || status >= 500; }
};

inline constexpr const char* kNotLeader = "NotLeader";  // ApiError::reason of a write that the operator did not send

template <class T>
using ApiResult = tl::expected<T, ApiError>;

// Reads the Status object in the body of a refusal. The message quotes a body that is not a Status.
ApiError error_of(const HttpRequest& request, const HttpResponse& response);

}  // namespace sailor::kube
