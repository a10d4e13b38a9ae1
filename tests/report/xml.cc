#include "tests/report/xml.h"

#include <sstream>

#include <expat.h>
#include <gtest/gtest.h>

namespace sailor::testing {
namespace {

struct Reader {
  std::unique_ptr<XmlNode> root;
  std::vector<XmlNode*> open;
};

void on_start(void* data, const XML_Char* tag, const XML_Char** attributes) {
  auto& reader = *static_cast<Reader*>(data);
  auto node = std::make_unique<XmlNode>();
  node->tag = tag;
  for (; *attributes != nullptr; attributes += 2) node->attributes[attributes[0]] = attributes[1];
  XmlNode* added = node.get();
  if (reader.open.empty()) {
    reader.root = std::move(node);
  } else {
    reader.open.back()->children.push_back(std::move(node));
  }
  reader.open.push_back(added);
}

void on_end(void* data, const XML_Char* /*tag*/) { static_cast<Reader*>(data)->open.pop_back(); }

void on_text(void* data, const XML_Char* text, int length) {
  auto& reader = *static_cast<Reader*>(data);
  if (!reader.open.empty()) reader.open.back()->text.append(text, static_cast<std::size_t>(length));
}

}  // namespace

void XmlNode::visit(const std::function<void(const XmlNode&)>& each) const {
  each(*this);
  for (const auto& child : children) child->visit(each);
}

int XmlNode::count(const std::string& wanted) const {
  int found = 0;
  visit([&](const XmlNode& node) { found += node.tag == wanted ? 1 : 0; });
  return found;
}

bool XmlNode::has_class(const std::string& name) const {
  const auto found = attributes.find("class");
  if (found == attributes.end()) return false;
  std::istringstream classes(found->second);
  for (std::string each; classes >> each;) {
    if (each == name) return true;
  }
  return false;
}

std::string XmlNode::whole_text() const {
  std::string all;
  visit([&](const XmlNode& node) { all += node.text + "\n"; });
  return all;
}

std::unique_ptr<XmlNode> parse_xml(const std::string& text) {
  Reader reader;
  const std::unique_ptr<XML_ParserStruct, decltype(&XML_ParserFree)> parser(XML_ParserCreate("UTF-8"), XML_ParserFree);
  XML_SetUserData(parser.get(), &reader);
  XML_SetElementHandler(parser.get(), on_start, on_end);
  XML_SetCharacterDataHandler(parser.get(), on_text);
  if (XML_Parse(parser.get(), text.data(), static_cast<int>(text.size()), XML_TRUE) == XML_STATUS_OK) {
    return std::move(reader.root);
  }
  ADD_FAILURE() << "line " << XML_GetCurrentLineNumber(parser.get()) << ", column "
                << XML_GetCurrentColumnNumber(parser.get()) << ": " << XML_ErrorString(XML_GetErrorCode(parser.get()));
  return nullptr;
}

}  // namespace sailor::testing
