// Reads streams of YAML (or JSON) documents as JSON values and keeps the line of each field.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/model/error.h"

namespace sailor {

using Json = nlohmann::json;

// One document of a stream.
struct SourceDocument {
  std::string file;
  Json value;
  std::map<std::string, int> lines;  // the key is the field's path, such as "spec.pairs[0].from"; lines count from 1

  // The line of the field, or of the nearest enclosing field that exists.
  [[nodiscard]] int line_of(std::string_view path) const;
  [[nodiscard]] std::string kind() const;
  // Prefixes an error that starts with a field's path with file and line: "file:12: spec.training.seed: ...".
  [[nodiscard]] Error located(const Error& error) const;
};

// Skips empty documents. The file "-" is the standard input. Errors name the file, line and column.
Result<std::vector<SourceDocument>> read_documents(const std::filesystem::path& file);
Result<std::vector<SourceDocument>> parse_documents(const std::string& text, const std::string& file);

}  // namespace sailor
