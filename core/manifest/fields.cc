#include "core/manifest/fields.h"

#include <regex>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/manifest/schema.h"

namespace sailor {
namespace {

constexpr std::string_view kApiVersion = "sailor.dev/v1alpha1";

using enum FieldType;
constexpr std::size_t kLongestDecimal = 24;

Error wrong(const std::string& path, const std::string& what) {
  return {ErrorCode::kInvalidArgument, fmt::format("{}: {}", path, what)};
}

bool is_decimal(const Json& value) {
  static const std::regex pattern(R"(^(0|[1-9][0-9]*)([.][0-9]+)?([eE][-+]?[0-9]{1,2})?$)");
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  return text.size() <= kLongestDecimal && std::regex_match(text, pattern);
}

bool has_type(const Json& value, FieldType type) {
  switch (type) {
    case kText:
      return value.is_string();
    case kInteger:
      return value.is_number_integer();
    case kBoolean:
      return value.is_boolean();
    case kDecimal:
      return is_decimal(value);
    case kObject:
    case kOpenObject:
      return value.is_object();
    case kList:
      return value.is_array();
    case kAnything:
      return true;
  }
  return false;
}

std::string expectation(const Json& value, FieldType type) {
  switch (type) {
    case kText:
      return value.is_boolean() ? "expected text; YAML reads a bare On, Off, Yes or No as a boolean, so quote it"
                                : "expected text; quote it";
    case kInteger:
      return "expected a whole number without quotes";
    case kBoolean:
      return "expected true or false";
    case kDecimal:
      return value.is_number() ? fmt::format("decimals are written in quotes: \"{}\"", value.dump())
                               : "expected a decimal in quotes, 0 or more, such as \"1.20\"";
    case kObject:
    case kOpenObject:
      return "expected a map of fields";
    case kList:
      return "expected a list";
    case kAnything:
      break;
  }
  return "";
}

class Checker {
 public:
  explicit Checker(const Schema& schema) : schema_(schema) {}

  // `pattern` is the path with "[]" for indices and "*" for names that the schema does not list.
  void check(const Json& value, const std::string& path, const std::string& pattern) {
    if (value.is_object()) {
      check_object(value, path, pattern);
    } else if (value.is_array()) {
      for (std::size_t i = 0; i < value.size(); ++i) {
        check_field(value[i], fmt::format("{}[{}]", path, i), pattern + "[]");
      }
    }
  }

  [[nodiscard]] std::vector<Error> take_errors() { return std::move(errors_); }

 private:
  void check_object(const Json& object, const std::string& path, const std::string& pattern) {
    const std::string prefix = pattern.empty() ? "" : pattern + ".";
    for (const auto& [key, value] : object.items()) {
      const std::string field_path = path.empty() ? key : fmt::format("{}.{}", path, key);
      const bool is_listed = schema_.find(prefix + key) != nullptr;
      if (!is_listed && is_open(pattern)) continue;
      check_field(value, field_path, !is_listed && schema_.find(prefix + "*") != nullptr ? prefix + "*" : prefix + key);
    }
    for (const Field* field : schema_.children(pattern)) {
      const std::string key(field->path.substr(prefix.size()));
      if (field->is_required && key != "*" && (!object.contains(key) || object.at(key).is_null())) {
        errors_.push_back(wrong(path.empty() ? key : fmt::format("{}.{}", path, key), "is missing"));
      }
    }
  }

  void check_field(const Json& value, const std::string& path, const std::string& pattern) {
    const Field* field = schema_.find(pattern);
    if (field == nullptr) {
      errors_.push_back(wrong(path, "is not a field here" + suggestion(pattern)));
    } else if (value.is_null() || field->type == kAnything) {
      return;  // null means absent, as in the API server
    } else if (!has_type(value, field->type)) {
      errors_.push_back(wrong(path, fmt::format("{} is invalid: {}", value.dump(), expectation(value, field->type))));
    } else if (std::string complaint = field->rule == nullptr ? "" : field->rule(value); !complaint.empty()) {
      errors_.push_back(wrong(path, complaint));
    } else {
      check(value, path, pattern);
    }
  }

  [[nodiscard]] bool is_open(const std::string& pattern) const {
    const Field* field = schema_.find(pattern);
    return field != nullptr && field->type == kOpenObject;
  }

  [[nodiscard]] std::string suggestion(const std::string& pattern) const {
    const std::size_t cut = pattern.rfind('.');
    const std::string parent = cut == std::string::npos ? "" : pattern.substr(0, cut);
    std::vector<std::string_view> names;
    for (const Field* field : schema_.children(parent))
      names.push_back(field->path.substr(parent.empty() ? 0 : cut + 1));
    return names.empty() ? "" : fmt::format("; the fields are {}", fmt::join(names, ", "));
  }

  const Schema& schema_;
  std::vector<Error> errors_;
};

std::string text_of(const Json& manifest, const char* key) {
  const auto found = manifest.find(key);
  return found != manifest.end() && found->is_string() ? found->get<std::string>() : std::string();
}

void check_name(const Json& metadata, const char* field, Rule rule, std::vector<Error>& errors) {
  if (text_of(metadata, field).empty()) return;
  if (const std::string problem = rule(metadata.at(field)); !problem.empty()) {
    errors.push_back(wrong(fmt::format("metadata.{}", field), problem));
  }
}

}  // namespace

std::vector<Error> check_fields(const Json& manifest) {
  const std::string name = text_of(manifest, "kind");
  const Schema* schema = find_schema(name);
  if (schema == nullptr) {
    return {wrong("kind", fmt::format("\"{}\" is not a kind of Sailor; use TrainingJob, GpuPool, ModelProfile, "
                                      "NetworkModel or ExecutionModel",
                                      name))};
  }
  Checker checker(*schema);
  checker.check(manifest, "", "");
  std::vector<Error> errors = checker.take_errors();
  if (const std::string version = text_of(manifest, "apiVersion"); !version.empty() && version != kApiVersion) {
    errors.push_back(wrong("apiVersion", fmt::format("\"{}\" is unknown; use {}", version, kApiVersion)));
  }
  const Json metadata = manifest.value("metadata", Json::object());
  if (schema->needs_name && metadata.is_object() && text_of(metadata, "name").empty()) {
    errors.push_back(wrong("metadata.name", "is missing"));
  }
  if (metadata.is_object()) {
    check_name(metadata, "name", object_name, errors);
    check_name(metadata, "namespace", plain_name, errors);
  }
  return errors;
}

}  // namespace sailor
