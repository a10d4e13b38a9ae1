#include "core/manifest/file_text.h"

#include <fstream>
#include <iostream>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

namespace sailor {
namespace {

std::string content_of(std::istream& stream) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  std::stringstream buffer;
  buffer << stream.rdbuf();
  std::string text = buffer.str();
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return text;
}

}  // namespace

std::string name_in_errors(const std::filesystem::path& file) { return file == "-" ? "standard input" : file.string(); }

Error error_in(const std::filesystem::path& file, const std::string& what) {
  return {ErrorCode::kInvalidArgument, fmt::format("{}: {}", name_in_errors(file), what)};
}

Result<std::string> read_text(const std::filesystem::path& file) {
  if (file == "-") return content_of(std::cin);
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) {
    return tl::unexpected(error_in(file, "is a directory; name a file"));
  }
  std::ifstream stream(file);
  if (!stream) return tl::unexpected(error_in(file, "cannot be read; check its name and permissions"));
  return content_of(stream);
}

}  // namespace sailor
