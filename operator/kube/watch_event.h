// WatchEvent: one line of a watch, decoded.
#pragma once

#include <string_view>

#include "operator/kube/api_error.h"
#include "operator/kube/object.h"

namespace sailor::kube {

struct WatchEvent {
  enum class Type { kPut, kDeleted, kBookmark, kError, kUnknown };
  Type type = Type::kUnknown;
  Json object;  // the object that changed; for kError: the Status
};

// Throws nlohmann::json::exception if the line is not a JSON object with a type and an object.
WatchEvent parse_watch_event(std::string_view line);

}  // namespace sailor::kube
