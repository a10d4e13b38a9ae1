#include "operator/kube/parse.h"

namespace sailor::kube {

Json parse(std::string_view text, bool throws) {
  const auto is_kept = [](int, Json::parse_event_t event, const Json& value) {
    return event != Json::parse_event_t::key || value != "managedFields";
  };
  return Json::parse(text, is_kept, throws);
}

}  // namespace sailor::kube
