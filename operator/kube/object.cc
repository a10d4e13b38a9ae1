#include "operator/kube/object.h"

#include <algorithm>

#include "core/model/parse_number.h"

namespace sailor::kube {

const Json* find_at(const Json& object, Path path) {
  const Json* here = &object;
  for (const std::string_view key : path) {
    if (!here->is_object()) return nullptr;
    const auto found = here->find(key);
    if (found == here->end() || found->is_null()) return nullptr;
    here = &*found;
  }
  return here;
}

std::string text_at(const Json& object, Path path) {
  const Json* found = find_at(object, path);
  return found != nullptr && found->is_string() ? found->get<std::string>() : std::string();
}

bool bool_at(const Json& object, Path path) {
  const Json* found = find_at(object, path);
  return found != nullptr && found->is_boolean() && found->get<bool>();
}

std::int64_t integer_at(const Json& object, Path path) {
  const Json* found = find_at(object, path);
  return found != nullptr && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

std::int64_t count_at(const Json& object, Path path) {
  const Json* found = find_at(object, path);
  if (found == nullptr || !found->is_string()) return std::max<std::int64_t>(0, integer_at(object, path));
  return std::max<std::int64_t>(0, parse_number<std::int64_t>(found->get_ref<const std::string&>()).value_or(0));
}

const Json& list_at(const Json& object, Path path) {
  static const Json empty = Json::array();
  const Json* found = find_at(object, path);
  return found != nullptr && found->is_array() ? *found : empty;
}

std::string name_of(const Json& object) { return text_at(object, {"metadata", "name"}); }
std::string namespace_of(const Json& object) { return text_at(object, {"metadata", "namespace"}); }
JobKey key_of(const Json& object) { return {namespace_of(object), name_of(object)}; }
std::string uid_of(const Json& object) { return text_at(object, {"metadata", "uid"}); }
std::string version_of(const Json& object) { return text_at(object, {"metadata", "resourceVersion"}); }

std::string label_of(const Json& object, std::string_view label) {
  return text_at(object, {"metadata", "labels", label});
}

std::string annotation_of(const Json& object, std::string_view annotation) {
  return text_at(object, {"metadata", "annotations", annotation});
}

Time created_at(const Json& object) {
  return parse_rfc3339(text_at(object, {"metadata", "creationTimestamp"})).value_or(Time());
}

Time event_time(const Json& event) {
  Time newest;
  for (const std::string& text :
       {text_at(event, {"firstTimestamp"}), text_at(event, {"lastTimestamp"}), text_at(event, {"eventTime"}),
        text_at(event, {"series", "lastObservedTime"}), text_at(event, {"metadata", "creationTimestamp"})}) {
    newest = std::max(newest, parse_rfc3339(text).value_or(Time()));
  }
  return newest;
}

bool is_deleting(const Json& object) { return find_at(object, {"metadata", "deletionTimestamp"}) != nullptr; }

const Json* find_condition(const Json& object, std::string_view type) {
  for (const Json& condition : list_at(object, {"status", "conditions"})) {
    if (text_at(condition, {"type"}) == type) return &condition;
  }
  return nullptr;
}

std::string controller_uid(const Json& object) {
  for (const Json& owner : list_at(object, {"metadata", "ownerReferences"})) {
    if (bool_at(owner, {"controller"})) return text_at(owner, {"uid"});
  }
  return {};
}

}  // namespace sailor::kube
