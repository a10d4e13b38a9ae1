#include "trainer/data/token_files.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "core/model/check.h"

namespace sailor::trainer {
namespace {

template <class Token>
void widen(const std::byte* from, std::span<std::int64_t> into) {
  for (std::int64_t& value : into) {
    Token token;  // copied: a file of another program need not be aligned
    std::memcpy(&token, from, sizeof(Token));
    value = static_cast<std::int64_t>(token);  // NOLINT(bugprone-signed-char-misuse): of 8 bits too it is a number
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

std::int64_t tokens_of(const TokenFile& file) {
  return static_cast<std::int64_t>(file.content->size() / bytes_of(file.type));
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

TokenFiles::TokenFiles(std::vector<TokenFile> files) : files_(std::move(files)) {
  for (const TokenFile& file : files_) {
    starts_.push_back(size_);
    size_ += tokens_of(file);
  }
}

void TokenFiles::read(std::int64_t first, std::span<std::int64_t> into) const {
  SAILOR_CHECK(first >= 0 && first + std::ssize(into) <= size_, "tokens from {} of {}", first, size_);
  while (!into.empty()) {
    const std::size_t index = file_of(first);
    const TokenFile& file = files_[index];
    const std::int64_t offset = first - starts_[index];
    const auto count = std::min(tokens_of(file) - offset, std::ssize(into));
    const auto copied = into.first(static_cast<std::size_t>(count));
    widen(file.type, file.content->data() + static_cast<std::size_t>(offset) * bytes_of(file.type), copied);
    into = into.subspan(copied.size());
    first += count;
  }
}

std::string TokenFiles::place_of(std::int64_t token) const {
  const std::size_t index = file_of(token);
  return fmt::format("{} at token {}", files_[index].name, token - starts_[index]);
}

std::size_t TokenFiles::file_of(std::int64_t token) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(starts_, token) - starts_.begin()) - 1;
}

}  // namespace sailor::trainer
