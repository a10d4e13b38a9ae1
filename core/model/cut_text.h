// Shortens texts to the limits of the systems that store them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sailor {

// Returns at most `bytes` bytes of a UTF-8 text. A text that is too long is cut between two characters and ends with
// "...". Bytes that are not UTF-8 are replaced by "?", because JSON cannot hold them.
std::string cut_text(std::string_view text, std::size_t bytes);

}  // namespace sailor
