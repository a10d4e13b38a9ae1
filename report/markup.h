// Elements of HTML and SVG. Text and attributes are always escaped when they are added, so that no name that a user
// chose can become markup. The output is well-formed as XML and as HTML.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace sailor::report {

// Formats a coordinate or a length with at most two decimals, never as "-0" and never with an exponent.
std::string coordinate(double value);

struct Attribute {
  Attribute(std::string_view its_name, std::string_view its_value) : name(its_name), value(its_value) {}
  Attribute(std::string_view its_name, const char* its_value) : name(its_name), value(its_value) {}
  Attribute(std::string_view its_name, std::string its_value) : name(its_name), value(std::move(its_value)) {}
  Attribute(std::string_view its_name, double its_value) : name(its_name), value(coordinate(its_value)) {}

  std::string name;
  std::string value;
};

class Element {
 public:
  // Tags and attribute names must be constants of this program. An attribute with an empty value is omitted.
  explicit Element(std::string_view tag, std::initializer_list<Attribute> attributes = {});

  Element& text(std::string_view text) &;
  Element&& text(std::string_view text) && { return std::move(this->text(text)); }
  Element& add(const Element& child) &;
  Element&& add(const Element& child) && { return std::move(add(child)); }
  // Adds a style sheet of this program without escaping, because HTML does not unescape it. It must not contain '<' or
  // '&'.
  Element& style_sheet(std::string_view css) &;

  [[nodiscard]] std::string str() const;

 private:
  std::string tag_;
  std::string head_;  // "<tag name="value""
  std::string body_;
};

// The text of a document: "<!DOCTYPE html>" and the root element.
std::string document(const Element& html);

}  // namespace sailor::report
