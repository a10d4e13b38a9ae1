#include "report/utf8.h"

#include <cstdint>

namespace sailor::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct Sequence {
  std::size_t length = 1;
  bool is_good = false;
};

std::uint8_t byte_at(std::string_view text, std::size_t at) { return static_cast<std::uint8_t>(text[at]); }

std::size_t length_by_lead(std::uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead < 0xE0) return 2;
  if (lead >= 0xE0 && lead < 0xF0) return 3;
  if (lead >= 0xF0 && lead < 0xF5) return 4;
  return 0;
}

bool is_character(std::uint32_t code, std::size_t length) {
  if (length == 1) return code >= 0x20 ? code != 0x7F : code == '\t' || code == '\n';
  if (length == 3) return code >= 0x800 && (code < 0xD800 || code > 0xDFFF) && code < 0xFFFE;
  if (length == 4) return code >= 0x10000 && code <= 0x10FFFF;
  return code >= 0xA0;  // lower code points are control characters
}

Sequence sequence_at(std::string_view text, std::size_t at) {
  const std::uint8_t lead = byte_at(text, at);
  const std::size_t length = length_by_lead(lead);
  if (length == 0 || at + length > text.size()) return {};
  std::uint32_t code = length == 1 ? lead : lead & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    const std::uint8_t next = byte_at(text, at + i);
    if ((next & 0xC0U) != 0x80U) return {};
    code = code << 6U | (next & 0x3FU);
  }
  return {length, is_character(code, length)};
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Sequence sequence = sequence_at(text, at);
    result += sequence.is_good ? text.substr(at, sequence.length) : kReplacement;
    at += sequence.length;
  }
  return result;
}

}  // namespace sailor::report
