// Manifests in files: YAML (or JSON) streams as JSON values that remember on which line each field stands.
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
  std::map<std::string, int> lines;  // of fields by path, "spec.training.seed", "spec.pairs[0].from"; counted from 1

  // Of the field, or of the nearest field around it that there is.
  [[nodiscard]] int line_of(std::string_view path) const;
  [[nodiscard]] std::string kind() const;
  // "file:12: spec.training.seed: ..." from an error that begins with a field's path.
  [[nodiscard]] Error located(const Error& error) const;
};

// Documents without content are left out; "-" is the standard input. Errors say file, line and column.
Result<std::vector<SourceDocument>> read_documents(const std::filesystem::path& file);
Result<std::vector<SourceDocument>> parse_documents(const std::string& text, const std::string& file);

}  // namespace sailor
