#include "core/manifest/source.h"

#include <charconv>
#include <cmath>
#include <regex>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <yaml-cpp/anchor.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "core/manifest/file_text.h"
#include "core/model/cut_text.h"
#include "core/model/parse_number.h"

namespace sailor {
namespace {

// Limits on documents: with aliases a small file can describe an enormous document.
constexpr int kMaxDepth = 64;
constexpr int kMaxNodes = 300'000;

constexpr std::size_t kLongestNumber = 400;
constexpr double kLeastNumberWithGaps = 9007199254740992;  // above it, not every whole number has a double of its own

struct ParseFailure {
  int line = 0;
  std::string what;
};

// Returns the whole number that the text spells as kubectl reads it: 0x, 0o and 0b give its base, and a leading 0 alone
// means base 8.
std::optional<std::int64_t> integer_in(std::string_view text) {
  const bool is_negative = text.front() == '-';
  if (is_negative || text.front() == '+') text.remove_prefix(1);
  int base = 10;
  if (text.size() > 1 && text.front() == '0') {
    const char mark = static_cast<char>(std::tolower(static_cast<unsigned char>(text[1])));
    base = mark == 'x' ? 16 : mark == 'b' ? 2 : 8;
    text.remove_prefix(mark == 'x' || mark == 'b' || mark == 'o' ? 2 : 1);
  }
  if (text.empty() || text.front() == '-') return std::nullopt;
  const std::string digits = (is_negative ? "-" : "") + std::string(text);
  std::int64_t integer = 0;
  const auto [stopped, error] = std::from_chars(digits.data(), digits.data() + digits.size(), integer, base);
  return error == std::errc() && stopped == digits.data() + digits.size() ? std::optional(integer) : std::nullopt;
}

// Also returns a number such as 08, which is not octal, and 1e3, which is a whole number for kubectl too.
Json number_in(std::string text) {
  std::erase(text, '_');
  if (const auto integer = integer_in(text)) return *integer;
  static const std::regex decimal(R"(^[-+]?([.][0-9]+|[0-9]+([.][0-9]*)?)([eE][-+]?[0-9]+)?$)");
  if (text.size() > kLongestNumber || !std::regex_match(text, decimal)) return nullptr;
  const auto number = parse_number<double>(std::string_view(text).substr(text.front() == '+' ? 1 : 0));
  if (!number) return nullptr;
  const bool is_whole = std::trunc(*number) == *number && std::abs(*number) < kLeastNumberWithGaps;
  return is_whole ? Json(static_cast<std::int64_t>(*number)) : Json(*number);
}

bool is_one_of(const std::string& text, std::initializer_list<const char*> words) {
  std::string lower;
  for (const char c : text) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const bool uniform = text == lower || text.substr(1) == lower.substr(1) ||
                       std::ranges::none_of(text, [](char c) { return std::islower(static_cast<unsigned char>(c)); });
  return uniform && std::ranges::find(words, lower) != words.end();
}

// Reads a plain scalar as kubectl does: the boolean words of YAML 1.1 are booleans, including "Off".
Json plain_scalar(const std::string& text) {
  if (text.empty() || text == "~" || is_one_of(text, {"null"})) return nullptr;
  if (is_one_of(text, {"true", "yes", "y", "on"})) return true;
  if (is_one_of(text, {"false", "no", "n", "off"})) return false;
  const bool starts_like_number = std::isdigit(static_cast<unsigned char>(text.front())) != 0 || text.front() == '-' ||
                                  text.front() == '+' || text.front() == '.';
  Json number = starts_like_number ? number_in(text) : nullptr;
  return number.is_null() ? Json(text) : number;
}

bool is_plain(const YAML::Node& node) { return node.Tag() == "?" || node.Tag().empty(); }

class Converter {
 public:
  explicit Converter(SourceDocument& document) : document_(document) {}

  Json convert(const YAML::Node& node, const std::string& path, int depth) {
    count(node, depth);
    document_.lines.insert_or_assign(path, line_of(node));
    switch (node.Type()) {
      case YAML::NodeType::Scalar:
        return is_plain(node) ? plain_scalar(node.Scalar()) : Json(node.Scalar());
      case YAML::NodeType::Sequence:
        return convert_sequence(node, path, depth);
      case YAML::NodeType::Map:
        return convert_map(node, path, depth);
      default:
        return nullptr;
    }
  }

 private:
  static int line_of(const YAML::Node& node) { return node.Mark().line + 1; }

  void count(const YAML::Node& node, int depth) {
    if (depth <= kMaxDepth && ++nodes_ <= kMaxNodes) return;
    throw ParseFailure{line_of(node), fmt::format("the document is nested deeper than {} or has more than {} values",
                                                  kMaxDepth, kMaxNodes)};
  }

  Json convert_sequence(const YAML::Node& node, const std::string& path, int depth) {
    Json array = Json::array();
    for (const YAML::Node& element : node) {
      array.push_back(convert(element, fmt::format("{}[{}]", path, array.size()), depth + 1));
    }
    return array;
  }

  Json convert_map(const YAML::Node& node, const std::string& path, int depth) {
    Json object = Json::object();
    std::set<std::string> keys;
    for (const auto& entry : node) {
      const int line = line_of(entry.first);
      if (!entry.first.IsScalar()) throw ParseFailure{line, "the name of a field must be text"};
      const std::string& key = entry.first.Scalar();
      const std::string field = path.empty() ? key : fmt::format("{}.{}", path, key);
      if (key == "<<" && is_plain(entry.first)) {
        merge(object, entry.second, path, depth + 1);
        continue;
      }
      if (!keys.insert(key).second) {
        throw ParseFailure{line, fmt::format("{}: is set twice; keep one", field)};
      }
      object[key] = convert(entry.second, field, depth + 1);
      document_.lines.insert_or_assign(field, line);
    }
    return object;
  }

  // Sets the fields of another map, or of a list of maps of which the first wins, as kubectl does: they also replace
  // fields that precede the key `<<`.
  void merge(Json& object, const YAML::Node& from, const std::string& path, int depth) {
    if (!from.IsSequence()) return merge_map(object, from, path, depth);
    for (std::size_t left = from.size(); left > 0; --left) merge_map(object, from[left - 1], path, depth);
  }

  void merge_map(Json& object, const YAML::Node& from, const std::string& path, int depth) {
    if (!from.IsMap()) throw ParseFailure{line_of(from), "<<: must be a map or a list of maps, such as *name"};
    count(from, depth);
    object.update(convert_map(from, path, depth));
  }

  SourceDocument& document_;
  int nodes_ = 0;
};

// yaml-cpp reads some texts that are no YAML, such as `a: 1},`, as documents without end, of which each begins where
// the one before did.
class DocumentStarts : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (mark.pos == last_) throw ParseFailure{mark.line + 1, "invalid YAML: unexpected text after the end of a value"};
    last_ = mark.pos;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  int last_ = -1;
};

// Throws unless yaml-cpp can read the text to its end.
void check_that_it_ends(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentStarts starts;
  while (parser.HandleNextDocument(starts)) {
  }
}

// Returns the number of the first line that is not UTF-8; 0: all are.
int first_line_not_utf8(const std::string& text) {
  std::istringstream stream(text);
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    if (cut_text(line, line.size()) != line) return number;
  }
  return 0;
}

Error parse_error(const std::string& file, int line, const std::string& what) {
  return {ErrorCode::kInvalidArgument, fmt::format("{}:{}: {}", file, line, what)};
}

}  // namespace

int SourceDocument::line_of(std::string_view path) const {
  for (std::string at(path);;) {
    if (const auto found = lines.find(at); found != lines.end()) return found->second;
    const std::size_t cut = at.find_last_of(".[");
    if (cut == std::string::npos) break;
    at.resize(cut);
  }
  const auto whole = lines.find("");
  return whole == lines.end() ? 1 : whole->second;
}

std::string SourceDocument::kind() const {
  return value.is_object() && value.contains("kind") && value.at("kind").is_string()
             ? value.at("kind").get<std::string>()
             : std::string();
}

Error SourceDocument::located(const Error& error) const {
  const std::string path = error.message.substr(0, error.message.find(": "));
  return {error.code, fmt::format("{}:{}: {}", file, line_of(path), error.message)};
}

Result<std::vector<SourceDocument>> parse_documents(const std::string& text, const std::string& file) {
  if (const int line = first_line_not_utf8(text)) {
    return tl::unexpected(parse_error(file, line, "the text is not UTF-8; save the file with this encoding"));
  }
  std::vector<SourceDocument> documents;
  try {
    check_that_it_ends(text);
    for (const YAML::Node& root : YAML::LoadAll(text)) {
      SourceDocument document{file, {}, {}};
      document.value = Converter(document).convert(root, "", 0);
      if (document.value.is_null()) continue;
      if (!document.value.is_object()) {
        return tl::unexpected(parse_error(file, root.Mark().line + 1, "a manifest must be a map of fields"));
      }
      documents.push_back(std::move(document));
    }
  } catch (const YAML::Exception& error) {
    return tl::unexpected(parse_error(file, error.mark.line + 1,
                                      fmt::format("invalid YAML: {} (column {})", error.msg, error.mark.column + 1)));
  } catch (const ParseFailure& failure) {
    return tl::unexpected(parse_error(file, failure.line, failure.what));
  }
  return documents;
}

Result<std::vector<SourceDocument>> read_documents(const std::filesystem::path& file) {
  const auto text = read_text(file);
  if (!text) return tl::unexpected(text.error());
  return parse_documents(*text, name_in_errors(file));
}

}  // namespace sailor
