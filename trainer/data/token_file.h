// TokenFile: one memory-mapped file of tokens that all have the same width.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "trainer/data/mapped_file.h"

namespace sailor::trainer {

enum class TokenType { kUint8, kInt8, kInt16, kUint16, kInt32, kUint32, kInt64 };

std::size_t bytes_of(TokenType type);

struct TokenFile {
  std::string name;
  std::unique_ptr<MappedFile> content;  // a whole number of tokens
  TokenType type = TokenType::kUint16;

  [[nodiscard]] std::int64_t size() const;  // tokens
  // Copies the tokens [first, first + into.size()), widened to the 64 bits that LibTorch requires of indices.
  void read(std::int64_t first, std::span<std::int64_t> into) const;
};

}  // namespace sailor::trainer
