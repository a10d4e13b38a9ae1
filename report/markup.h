// Markup: elements of HTML and SVG. Text and attributes are escaped as they go in, and there is no other way in, so
// that nothing that a user named can become markup. What comes out is well-formed XML as well as HTML.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace sailor::report {

// A coordinate or a length: at most two decimals, never "-0", never an exponent.
std::string coordinate(double value);

struct Attribute {
  Attribute(std::string_view its_name, std::string_view its_value) : name(its_name), value(its_value) {}
  Attribute(std::string_view its_name, const char* its_value) : name(its_name), value(its_value) {}
  Attribute(std::string_view its_name, const std::string& its_value) : name(its_name), value(its_value) {}
  Attribute(std::string_view its_name, double its_value) : name(its_name), value(coordinate(its_value)) {}

  std::string name;
  std::string value;
};

class Element {
 public:
  // Tag and attribute names are constants of ours; an attribute without a value is left out.
  explicit Element(std::string_view tag, std::initializer_list<Attribute> attributes = {});

  Element& text(std::string_view text) &;
  Element&& text(std::string_view text) && { return std::move(this->text(text)); }
  Element& add(const Element& child) &;
  Element&& add(const Element& child) && { return std::move(add(child)); }
  // A style sheet of ours, which HTML would not unescape: it has no '<' and no '&'.
  Element& style_sheet(std::string_view css) &;

  [[nodiscard]] std::string str() const;

 private:
  std::string tag_;
  std::string head_;  // "<tag name="value""
  std::string body_;
};

// Markup of its own: "<!DOCTYPE html>" and the root.
std::string document(const Element& html);

}  // namespace sailor::report
