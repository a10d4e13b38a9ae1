// JsonText: a JSON text whose values can be named by line and column in errors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/model/error.h"

namespace sailor {

// Returns an error that begins with the line and column of the character at `offset`. The text begins in line
// `first_line` of its file, at column 1.
tl::unexpected<Error> error_at_offset(std::string_view text, std::size_t offset, const std::string& what,
                                      int first_line = 1);

class JsonText {
 public:
  // Fails with the place where the text stops to be JSON.
  static Result<JsonText> parse(std::string text, int first_line = 1);

  [[nodiscard]] const nlohmann::json& root() const { return root_; }
  // The path consists of keys and indices. If the value is missing, the error names its container.
  [[nodiscard]] tl::unexpected<Error> error_at(const std::vector<std::string>& path, const std::string& what) const;

 private:
  JsonText(std::string text, int first_line, nlohmann::json root)
      : text_(std::move(text)), first_line_(first_line), root_(std::move(root)) {}

  std::string text_;
  int first_line_;
  nlohmann::json root_;
};

}  // namespace sailor
