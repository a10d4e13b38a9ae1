// The pages' one style sheet: colours that colour-blind people tell apart (Okabe and Ito, 2008), light, dark and print.
#pragma once

#include <string_view>

namespace sailor::report {

std::string_view style_sheet();

}  // namespace sailor::report
