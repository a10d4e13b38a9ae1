// The style sheet of all pages, for light and dark screens and for print. Colour-blind people can distinguish its
// colours (Okabe and Ito, 2008).
#pragma once

#include <string_view>

namespace sailor::report {

std::string_view style_sheet();

}  // namespace sailor::report
