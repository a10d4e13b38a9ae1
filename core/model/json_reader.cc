#include "core/model/json_reader.h"

#include <fmt/format.h>

namespace sailor {
namespace {

const nlohmann::json& empty_object() {
  static const nlohmann::json object = nlohmann::json::object();
  return object;
}

}  // namespace

JsonReader::JsonReader(const nlohmann::json& object, std::string path)
    : object_(object.is_object() ? object : empty_object()), path_(std::move(path)) {
  if (!object.is_object()) {
    error_ = Error{ErrorCode::kInvalidArgument, fmt::format("{}: expected an object, not {}",
                                                            path_.empty() ? "document" : path_, object.type_name())};
  }
}

const nlohmann::json& JsonReader::child(std::string_view key) {
  const nlohmann::json* field = find(key);
  return field == nullptr || field->is_null() ? empty_object() : *field;
}

const nlohmann::json& JsonReader::list(std::string_view key) {
  static const nlohmann::json empty = nlohmann::json::array();
  const nlohmann::json* field = find(key);
  if (field == nullptr || field->is_null()) return empty;
  if (field->is_array()) return *field;
  record(key, wrong_type(*field));
  return empty;
}

std::string JsonReader::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

void JsonReader::record(std::string_view key, std::string_view what) {
  if (!error_) error_ = Error{ErrorCode::kInvalidArgument, fmt::format("{}: {}", path_of(key), what)};
}

void JsonReader::absorb(const Error& error) {
  if (!error_) error_ = error;
}

const nlohmann::json* JsonReader::find(std::string_view key) const {
  const auto found = object_.find(key);
  return found == object_.end() ? nullptr : &*found;
}

std::string JsonReader::wrong_type(const nlohmann::json& field) {
  if (field.is_number_integer()) return fmt::format("{} is out of range or of the wrong type", field.dump());
  return fmt::format("{} is of the wrong type ({})", field.dump(), field.type_name());
}

}  // namespace sailor
