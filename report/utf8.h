// UTF-8 that a page may hold: files may say anything, XML and HTML may not.
#pragma once

#include <string>
#include <string_view>

namespace sailor::report {

// The text with U+FFFD in place of broken sequences and of control characters other than tab and newline.
std::string printable(std::string_view text);

}  // namespace sailor::report
