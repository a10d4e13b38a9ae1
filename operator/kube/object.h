// Functions that read Kubernetes objects, which are JSON. An absent field reads as an empty value, never as an
// exception.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/model/ids.h"
#include "operator/kube/time.h"

namespace sailor::kube {

using Json = nlohmann::json;
using Path = std::initializer_list<std::string_view>;
using Object = std::shared_ptr<const Json>;

const Json* find_at(const Json& object, Path path);  // null: the field is absent
std::string text_at(const Json& object, Path path);  // empty: the field is absent or not a string
bool bool_at(const Json& object, Path path);
std::int64_t integer_at(const Json& object, Path path);  // 0: the field is absent or not an integer
// Returns a quantity of things that are counted, such as GPUs. Kubernetes writes it as a text or a number. 0: the field
// is absent, negative, or no whole number.
std::int64_t count_at(const Json& object, Path path);
const Json& list_at(const Json& object, Path path);  // an empty list: the field is absent or not a list

std::string name_of(const Json& object);
std::string namespace_of(const Json& object);
JobKey key_of(const Json& object);  // the namespace and name of an object of any kind
std::string uid_of(const Json& object);
std::string version_of(const Json& object);  // metadata.resourceVersion
std::string label_of(const Json& object, std::string_view label);
std::string annotation_of(const Json& object, std::string_view annotation);
bool is_deleting(const Json& object);
Time created_at(const Json& object);  // Time(): the object does not say it
// Returns when an Event was repeated last. Which of its fields says so depends on the library that wrote it.
Time event_time(const Json& event);
const Json* find_condition(const Json& object, std::string_view type);  // in status.conditions; null: it has none
// Returns the UID of the object that controls this one, or "" if no object does.
std::string controller_uid(const Json& object);

}  // namespace sailor::kube
