// The frame of all pages: one document that contains the style sheet and refers to nothing else.
#pragma once

#include <string>

#include "report/markup.h"

namespace sailor::report {

std::string page(const std::string& title, const Element& body);

}  // namespace sailor::report
