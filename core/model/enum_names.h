// Converts enumerators to their names in manifests and back, from one table for each enum.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/model/json_reader.h"

namespace sailor {

template <class E>
struct EnumName {
  E value;
  std::string_view name;
};

template <class E, std::size_t N>
std::string_view name_of(const EnumName<E> (&names)[N], E value) {
  for (const EnumName<E>& entry : names) {
    if (entry.value == value) return entry.name;
  }
  return "unknown";
}

template <class E, std::size_t N>
std::optional<E> value_of(const EnumName<E> (&names)[N], std::string_view name) {
  for (const EnumName<E>& entry : names) {
    if (entry.name == name) return entry.value;
  }
  return std::nullopt;
}

template <class E, std::size_t N>
std::string choices(const EnumName<E> (&names)[N]) {
  std::string list;
  for (const EnumName<E>& entry : names) list += fmt::format("{}{}", list.empty() ? "" : ", ", entry.name);
  return list;
}

// Reads the field, or returns the fallback if it is absent. Records an error for a name that is not in the table.
template <class E, std::size_t N>
E read_enum(JsonReader& reader, std::string_view key, const EnumName<E> (&names)[N], E fallback) {
  const auto text = reader.optional<std::string>(key);
  if (!text) return fallback;
  const auto value = value_of(names, *text);
  if (!value) reader.record(key, fmt::format("\"{}\" is unknown; use one of {}", *text, choices(names)));
  return value.value_or(fallback);
}

}  // namespace sailor
