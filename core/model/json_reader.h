// JsonReader: reads typed fields of a JSON object. Its errors name the path of the missing or wrong field.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/model/error.h"

namespace sailor {

// Keeps the first error instead of returning one for every field, so that code that reads ten fields has ten lines:
//   JsonReader reader(json, "spec");
//   const int batch = reader.required<int>("globalBatchSize");
//   const auto limit = reader.optional<int>("maxGpus");
//   if (const auto& error = reader.error()) return tl::unexpected(*error);
class JsonReader {
 public:
  JsonReader(const nlohmann::json& object, std::string path);

  template <class T>
  T required(std::string_view key) {
    const nlohmann::json* field = find(key);
    if (field == nullptr) {
      record(key, "is missing");
      return T{};
    }
    return read<T>(key, *field);
  }

  template <class T>
  std::optional<T> optional(std::string_view key) {
    const nlohmann::json* field = find(key);
    if (field == nullptr || field->is_null()) return std::nullopt;
    return read<T>(key, *field);
  }

  template <class T>
  T value_or(std::string_view key, T fallback) {
    return optional<T>(key).value_or(std::move(fallback));
  }

  // The value of a key, for a reader of its own, or an empty object if the key is absent.
  const nlohmann::json& child(std::string_view key);
  // The array of a key, or an empty array if the key is absent. Records an error if the field is of another type.
  const nlohmann::json& list(std::string_view key);
  [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }
  [[nodiscard]] std::string path_of(std::string_view key) const;
  void record(std::string_view key, std::string_view what);  // an error of this field; the first error is kept
  void absorb(const Error& error);                           // the error of a child's reader; the first is kept
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  template <class T>
  T read(std::string_view key, const nlohmann::json& field) {
    if (!has_type<T>(field)) {
      record(key, wrong_type(field));
      return T{};
    }
    return field.get<T>();
  }

  template <class T>
  static bool has_type(const nlohmann::json& field) {
    if constexpr (std::is_same_v<T, bool>) {
      return field.is_boolean();
    } else if constexpr (std::is_integral_v<T>) {
      return field.is_number_integer() && is_held_by<T>(field);
    } else if constexpr (std::is_floating_point_v<T>) {
      return field.is_number();
    } else if constexpr (std::is_same_v<T, std::string>) {
      return field.is_string();
    } else if constexpr (IsVector<T>::value) {
      return field.is_array() && std::ranges::all_of(field, has_type<typename T::value_type>);
    } else {
      return true;
    }
  }
  // Refuses a number that T cannot represent, which would otherwise wrap around.
  template <class T>
  static bool is_held_by(const nlohmann::json& field) {
    return field.is_number_unsigned() ? std::in_range<T>(field.get<std::uint64_t>())
                                      : std::in_range<T>(field.get<std::int64_t>());
  }
  template <class T>
  struct IsVector : std::false_type {};
  template <class T>
  struct IsVector<std::vector<T>> : std::true_type {};

  [[nodiscard]] const nlohmann::json* find(std::string_view key) const;
  static std::string wrong_type(const nlohmann::json& field);

  const nlohmann::json& object_;
  std::string path_;
  std::optional<Error> error_;
};

}  // namespace sailor
