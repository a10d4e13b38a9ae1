// TokenSource: a corpus as one long row of tokens, however it is stored. Memory-mapped, never loaded whole.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/model/job_spec.h"

namespace sailor::trainer {

class TokenSource {
 public:
  TokenSource() = default;
  TokenSource(const TokenSource&) = delete;
  TokenSource& operator=(const TokenSource&) = delete;
  virtual ~TokenSource() = default;

  [[nodiscard]] virtual std::int64_t size() const = 0;  // tokens
  // Copies tokens [first, first + into.size()); they are widened to what LibTorch wants as indices.
  virtual void read(std::int64_t first, std::span<std::int64_t> into) const = 0;
  [[nodiscard]] virtual std::string place_of(std::int64_t token) const = 0;  // for messages: file and place in it
};

// Opens what the job names, and checks that it is readable and long enough for one sequence.
Result<std::unique_ptr<TokenSource>> open_tokens(const DataSpec& data, int sequence_length);

}  // namespace sailor::trainer
