// The fields of each kind of manifest: their types, whether they are required, and the rules for their values.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/manifest/rules.h"

namespace sailor {

// An open object may have fields that the schema does not list, such as the fields of a pod that only Kubernetes knows.
enum class FieldType { kText, kInteger, kBoolean, kDecimal, kObject, kOpenObject, kList, kAnything };

struct Field {
  std::string_view path;  // "[]" stands for any index, "*" for any name that is not listed
  FieldType type = FieldType::kText;
  bool is_required = false;  // required if its parent object is present
  Rule rule = nullptr;       // a further rule for values of this type
};

struct Schema {
  std::string_view kind;
  std::span<const Field> fields;
  bool needs_name = true;

  [[nodiscard]] const Field* find(std::string_view pattern) const;  // nullptr if there is no such field
  // The fields directly below the object with this pattern.
  [[nodiscard]] std::vector<const Field*> children(std::string_view pattern) const;
};

const Schema* find_schema(std::string_view kind);  // nullptr if the kind is unknown

}  // namespace sailor
