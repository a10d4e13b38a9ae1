// XML read by expat into a tree, so that tests ask what a page says and not how it is spelt.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sailor::testing {

struct XmlNode {
  std::string tag;
  std::map<std::string, std::string> attributes;
  std::string text;  // the text of this node, without that of its children
  std::vector<std::unique_ptr<XmlNode>> children;

  // Visits this node and all below it.
  void visit(const std::function<void(const XmlNode&)>& each) const;
  [[nodiscard]] int count(const std::string& tag) const;
  [[nodiscard]] bool has_class(const std::string& name) const;
  // Returns the text of this node and of all below it.
  [[nodiscard]] std::string whole_text() const;
};

// Returns null, and adds a test failure with the line, if the text is not well-formed.
std::unique_ptr<XmlNode> parse_xml(const std::string& text);

}  // namespace sailor::testing
