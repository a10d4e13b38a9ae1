#include "report/page_frame.h"

#include "report/style.h"

namespace sailor::report {
namespace {

Element head(const std::string& title) {
  Element head("head");
  head.add(Element("meta", {{"charset", "utf-8"}}))
      .add(Element("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}}))
      .add(Element("title").text(title));
  Element style("style");
  style.style_sheet(style_sheet());
  return head.add(style);
}

}  // namespace

std::string page(const std::string& title, const Element& body) {
  Element html("html", {{"xmlns", "http://www.w3.org/1999/xhtml"}, {"lang", "en"}});
  html.add(head(title)).add(body);
  return document(html);
}

}  // namespace sailor::report
