#include "operator/pages/page_parts.h"

#include <fmt/format.h>

#include "report/page_frame.h"

namespace sailor {

using report::Element;

Element heading(const std::string& text) { return Element("h2").text(text); }

std::string operator_page(const std::string& title, const Element& content, Time now) {
  Element body("body");
  body.add(content);
  body.add(Element("footer").text(
      fmt::format("State of {}. sailor-operator {}; this page changes nothing.", to_rfc3339(now), SAILOR_VERSION)));
  return report::page(title, body);
}

}  // namespace sailor
