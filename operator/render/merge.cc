#include "operator/render/merge.h"

#include <algorithm>
#include <map>

namespace sailor {
namespace {

using kube::Json;

// Returns the field that identifies the items of a list, or null for a list whose items have no such field.
const char* merge_key(const std::string& list) {
  static const std::map<std::string, const char*> keys = {
      {"containers", "name"},       {"initContainers", "name"},
      {"volumes", "name"},          {"env", "name"},
      {"ports", "containerPort"},   {"volumeMounts", "mountPath"},
      {"imagePullSecrets", "name"}, {"volumeDevices", "devicePath"},
      {"hostAliases", "ip"},        {"topologySpreadConstraints", "topologyKey"}};
  const auto found = keys.find(list);
  return found == keys.end() ? nullptr : found->second;
}

void merge_list(Json& base, const Json& patch, const char* key) {
  for (const Json& entry : patch) {
    const auto same = std::ranges::find_if(base, [&](const Json& mine) {
      return entry.is_object() && entry.contains(key) && mine.is_object() && mine.contains(key) &&
             mine.at(key) == entry.at(key);
    });
    if (same == base.end()) {
      base.push_back(entry);
    } else {
      merge_over(*same, entry);
    }
  }
}

void merge_field(Json& base, const std::string& name, const Json& value) {
  Json& mine = base[name];  // null if the field does not exist yet
  const bool are_lists = mine.is_array() && value.is_array();
  if (mine.is_object() && value.is_object()) {
    merge_over(mine, value);
  } else if (are_lists && merge_key(name) != nullptr) {
    merge_list(mine, value, merge_key(name));
  } else if (are_lists && name == "tolerations") {
    mine.insert(mine.end(), value.begin(), value.end());
  } else {
    mine = value;
  }
}

}  // namespace

void merge_over(Json& base, const Json& patch) {
  for (const auto& [name, value] : patch.items()) {
    if (value.is_null()) {
      base.erase(name);
    } else {
      merge_field(base, name, value);
    }
  }
}

}  // namespace sailor
