#include "planner/replay/json_text.h"

#include <algorithm>

#include <fmt/format.h>

namespace sailor {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kSpace = " \t\r\n";

// Finds values in a text that is known to be JSON.
class ValueFinder {
 public:
  explicit ValueFinder(std::string_view text) : text_(text) {}

  // Returns the offset of the value at the path, or of the innermost container on the path that exists.
  std::size_t find(const std::vector<std::string>& path) {
    skip_space();
    std::size_t found = at_;
    for (const std::string& step : path) {
      if (!enter(step)) break;
      found = at_;
    }
    return found;
  }

 private:
  // Moves from the beginning of a container to its member or element.
  bool enter(const std::string& step) {
    const bool is_object = text_[at_] == '{';
    if (!is_object && text_[at_] != '[') return false;
    ++at_;
    skip_space();
    for (std::size_t index = 0; text_[at_] != '}' && text_[at_] != ']'; ++index) {
      const std::string name = is_object ? key() : std::to_string(index);
      if (name == step) return true;
      skip_value();
      skip_space();
      if (text_[at_] == ',') ++at_;
      skip_space();
    }
    return false;
  }

  // Moves past a key and its colon.
  std::string key() {
    const std::size_t first = at_ + 1;
    skip_string();
    std::string name(text_.substr(first, at_ - 1 - first));
    at_ = text_.find(':', at_) + 1;
    skip_space();
    return name;
  }

  void skip_value() {
    int depth = 0;
    do {
      skip_space();
      const char next = text_[at_];
      if (next == '"') {
        skip_string();
        continue;
      }
      if (next == '{' || next == '[') ++depth;
      if (next == '}' || next == ']') --depth;
      ++at_;
      const bool is_word = depth == 0 && next != '}' && next != ']';
      if (is_word) at_ = text_.find_first_of(",}] \t\r\n", at_);
    } while (depth > 0);
  }

  void skip_string() {
    for (++at_; text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    ++at_;
  }

  void skip_space() { at_ = std::min(text_.find_first_not_of(kSpace, at_), text_.size()); }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

tl::unexpected<Error> error_at_offset(std::string_view text, std::size_t offset, const std::string& what,
                                      int first_line) {
  const std::string_view before = text.substr(0, offset);
  const auto line = std::ranges::count(before, '\n') + first_line;
  const std::size_t begin = before.rfind('\n') + 1;  // npos + 1 is 0
  return fail(ErrorCode::kInvalidArgument, fmt::format("line {}, column {}: {}", line, offset - begin + 1, what));
}

Result<JsonText> JsonText::parse(std::string text, int first_line) {
  const auto fails_at = [&](std::size_t offset, const std::string& what) {
    return error_at_offset(text, offset, what, first_line);
  };
  try {
    Json root = Json::parse(text);
    return JsonText(std::move(text), first_line, std::move(root));
  } catch (const Json::parse_error& error) {
    const std::size_t offset = error.byte == 0 ? 0 : error.byte - 1;
    if (offset >= text.size()) {
      return fails_at(text.size(), "the text ends within a value; the file seems to be truncated");
    }
    return fails_at(offset, "the text is not JSON from here on");
  } catch (const Json::exception&) {  // a number that is too large
    return fails_at(0, "the text has a number that is too large");
  }
}

tl::unexpected<Error> JsonText::error_at(const std::vector<std::string>& path, const std::string& what) const {
  return error_at_offset(text_, ValueFinder(text_).find(path), what, first_line_);
}

}  // namespace sailor
