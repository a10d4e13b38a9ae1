#include "trainer/data/token_file.h"

#include <cstring>

#include "core/model/check.h"

namespace sailor::trainer {
namespace {

template <class Token>
void widen(const std::byte* from, std::span<std::int64_t> into) {
  for (std::int64_t& value : into) {
    Token token;  // copied, because a file of another program need not be aligned
    std::memcpy(&token, from, sizeof(Token));
    value = static_cast<std::int64_t>(token);  // NOLINT(bugprone-signed-char-misuse): 8-bit tokens are numbers too
    from += sizeof(Token);
  }
}

void widen(TokenType type, const std::byte* from, std::span<std::int64_t> into) {
  switch (type) {
    case TokenType::kUint8:
      return widen<std::uint8_t>(from, into);
    case TokenType::kInt8:
      return widen<std::int8_t>(from, into);
    case TokenType::kInt16:
      return widen<std::int16_t>(from, into);
    case TokenType::kUint16:
      return widen<std::uint16_t>(from, into);
    case TokenType::kInt32:
      return widen<std::int32_t>(from, into);
    case TokenType::kUint32:
      return widen<std::uint32_t>(from, into);
    case TokenType::kInt64:
      return widen<std::int64_t>(from, into);
  }
}

}  // namespace

std::size_t bytes_of(TokenType type) {
  switch (type) {
    case TokenType::kUint8:
    case TokenType::kInt8:
      return 1;
    case TokenType::kInt16:
    case TokenType::kUint16:
      return 2;
    case TokenType::kInt32:
    case TokenType::kUint32:
      return 4;
    case TokenType::kInt64:
      return 8;
  }
  return 0;
}

std::int64_t TokenFile::size() const { return static_cast<std::int64_t>(content->size() / bytes_of(type)); }

void TokenFile::read(std::int64_t first, std::span<std::int64_t> into) const {
  SAILOR_CHECK(first >= 0 && first + std::ssize(into) <= size(), "tokens from {} of {} in {}", first, size(), name);
  widen(type, content->data() + static_cast<std::size_t>(first) * bytes_of(type), into);
}

}  // namespace sailor::trainer
