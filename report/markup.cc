#include "report/markup.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/model/check.h"
#include "report/utf8.h"

namespace sailor::report {
namespace {

std::string escaped(std::string_view text) {
  std::string result;
  for (const char letter : printable(text)) {
    switch (letter) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += letter;
    }
  }
  return result;
}

bool is_void(std::string_view tag) { return tag == "meta" || tag == "br"; }

}  // namespace

std::string coordinate(double value) {
  SAILOR_CHECK(std::isfinite(value), "a coordinate of {}", value);
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

Element::Element(std::string_view tag, std::initializer_list<Attribute> attributes) : tag_(tag), head_("<") {
  head_ += tag;
  for (const Attribute& attribute : attributes) {
    if (attribute.value.empty()) continue;
    head_ += fmt::format(" {}=\"{}\"", attribute.name, escaped(attribute.value));
  }
}

Element& Element::text(std::string_view text) & {
  body_ += escaped(text);
  return *this;
}

Element& Element::add(const Element& child) & {
  body_ += child.str();
  return *this;
}

Element& Element::style_sheet(std::string_view css) & {
  SAILOR_CHECK(css.find_first_of("<&") == std::string_view::npos, "a style sheet with '<' or '&'");
  body_ += css;
  return *this;
}

std::string Element::str() const {
  if (is_void(tag_)) return head_ + "/>";
  return fmt::format("{}>{}</{}>", head_, body_, tag_);
}

std::string document(const Element& html) { return "<!DOCTYPE html>\n" + html.str() + "\n"; }

}  // namespace sailor::report
