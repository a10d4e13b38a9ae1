#include "core/model/cut_text.h"

namespace sailor {
namespace {

constexpr std::string_view kEllipsis = "...";

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

// Returns the length that the first byte of a character announces; 0: no character begins with this byte.
std::size_t announced_length(unsigned char first) {
  if (first < 0x80U) return 1;
  if (first >= 0xC2U && first < 0xE0U) return 2;
  if (first >= 0xE0U && first < 0xF0U) return 3;
  return first >= 0xF0U && first < 0xF5U ? 4 : 0;
}

// Returns whether the second byte of a character is out of the range that Unicode allows after the first one.
bool is_overlong_or_surrogate(unsigned char first, unsigned char second) {
  return (first == 0xE0U && second < 0xA0U) || (first == 0xEDU && second > 0x9FU) ||
         (first == 0xF0U && second < 0x90U) || (first == 0xF4U && second > 0x8FU);
}

// Returns the length of the character at the start of the text; 0: there is no valid one.
std::size_t character_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = announced_length(first);
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(text[i])) return 0;
  }
  return length > 1 && is_overlong_or_surrogate(first, static_cast<unsigned char>(text[1])) ? 0 : length;
}

}  // namespace

std::string cut_text(std::string_view text, std::size_t bytes) {
  const bool is_too_long = text.size() > bytes;
  const std::size_t limit = is_too_long && bytes >= kEllipsis.size() ? bytes - kEllipsis.size() : bytes;
  std::string cut;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const std::string_view character = length == 0 ? std::string_view("?") : text.substr(0, length);
    if (cut.size() + character.size() > limit) break;
    cut += character;
    text.remove_prefix(length == 0 ? 1 : length);
  }
  if (is_too_long && limit < bytes) cut += kEllipsis;
  return cut;
}

}  // namespace sailor
