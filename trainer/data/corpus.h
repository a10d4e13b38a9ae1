// Corpus: the training or validation data of a job as one long sequence of tokens, read from one or more memory-mapped
// files. No file is loaded into memory as a whole.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/model/job_spec.h"
#include "trainer/data/token_file.h"

namespace sailor::trainer {

class Corpus {
 public:
  // Opens the files that the job names (a file or a pattern), in alphabetical order. Fails if a file is unreadable or
  // if all files together have too few tokens for one training sequence.
  static Result<std::unique_ptr<Corpus>> open(const DataSpec& data, int sequence_length);

  [[nodiscard]] std::int64_t size() const { return size_; }  // tokens
  // Copies the tokens [first, first + into.size()).
  void read(std::int64_t first, std::span<std::int64_t> into) const;
  // Returns the name of the file that contains the token and the token's position in it, for error messages.
  [[nodiscard]] std::string describe_position(std::int64_t token) const;

 private:
  explicit Corpus(std::vector<TokenFile> files);  // none of them is empty
  [[nodiscard]] std::size_t file_of(std::int64_t token) const;

  std::vector<TokenFile> files_;
  std::vector<std::int64_t> starts_;  // the first token of each file
  std::int64_t size_ = 0;
};

}  // namespace sailor::trainer
