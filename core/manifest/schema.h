// The fields that each kind of manifest has: their types, which of them must be there, and the rules for their values.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/manifest/rules.h"

namespace sailor {

// An open object may have fields that are not listed, as those of a pod that only Kubernetes knows.
enum class FieldType { kText, kInteger, kBoolean, kDecimal, kObject, kOpenObject, kList, kAnything };

struct Field {
  std::string_view path;  // "[]" stands for any index, a last "*" for any name that is not listed
  FieldType type = FieldType::kText;
  bool is_required = false;  // where the object that it belongs to is there
  Rule rule = nullptr;       // for values of the right type
};

struct Schema {
  std::string_view kind;
  std::span<const Field> fields;
  bool needs_name = true;

  [[nodiscard]] const Field* find(std::string_view pattern) const;  // nullptr where there is no such field
  // Fields directly below the object that the pattern names.
  [[nodiscard]] std::vector<const Field*> children(std::string_view pattern) const;
};

const Schema* find_schema(std::string_view kind);  // nullptr where the kind is none of ours

}  // namespace sailor
