// What all pages are: one document with the style sheet inside, and nothing from elsewhere.
#pragma once

#include <string>

#include "report/markup.h"

namespace sailor::report {

std::string page(const std::string& title, const Element& body);

}  // namespace sailor::report
