#include "operator/model/job_status.h"

#include <cstdlib>

namespace sailor {

using kube::Json;
using kube::text_at;

const Json* find_condition(const Json& status, std::string_view type) {
  for (const Json& condition : kube::list_at(status, {"conditions"})) {
    if (text_at(condition, {"type"}) == type) return &condition;
  }
  return nullptr;
}

bool is_true(const Json& status, std::string_view condition) {
  const Json* found = find_condition(status, condition);
  return found != nullptr && text_at(*found, {"status"}) == "True";
}

bool has_ended(const Json& status) { return is_true(status, "Complete") || is_true(status, "Failed"); }

double decimal_at(const Json& object, kube::Path path) {
  const std::string text = text_at(object, path);
  return text.empty() ? 0 : std::strtod(text.c_str(), nullptr);
}

}  // namespace sailor
