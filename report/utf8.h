// Makes text from files valid for XML and HTML.
#pragma once

#include <string>
#include <string_view>

namespace sailor::report {

// Replaces invalid UTF-8 sequences, and control characters other than tab and newline, by U+FFFD.
std::string printable(std::string_view text);

}  // namespace sailor::report
