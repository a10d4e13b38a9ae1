// TokenFiles: mapped files of tokens, one after the other, as one long row.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trainer/data/mapped_file.h"
#include "trainer/data/token_source.h"

namespace sailor::trainer {

enum class TokenType { kUint8, kInt8, kInt16, kUint16, kInt32, kUint32, kInt64 };

std::size_t bytes_of(TokenType type);

struct TokenFile {
  std::string name;
  std::unique_ptr<MappedFile> content;  // a whole number of tokens
  TokenType type = TokenType::kUint16;
};

class TokenFiles : public TokenSource {
 public:
  explicit TokenFiles(std::vector<TokenFile> files);  // none of them empty

  [[nodiscard]] std::int64_t size() const override { return size_; }
  void read(std::int64_t first, std::span<std::int64_t> into) const override;
  [[nodiscard]] std::string place_of(std::int64_t token) const override;

 private:
  [[nodiscard]] std::size_t file_of(std::int64_t token) const;

  std::vector<TokenFile> files_;
  std::vector<std::int64_t> starts_;  // first token of each file
  std::int64_t size_ = 0;
};

}  // namespace sailor::trainer
