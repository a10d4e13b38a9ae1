#include "trainer/data/token_source.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>

#include "planner/model/check.h"
#include "trainer/data/mapped_file.h"

namespace sailor::trainer {
namespace {

// Files one after the other, in the order of their names; Token is the type in which a token is stored.
template <class Token>
class FileTokens : public TokenSource {
 public:
  explicit FileTokens(std::vector<std::unique_ptr<MappedFile>> files) : files_(std::move(files)) {
    for (const auto& file : files_) {
      starts_.push_back(size_);
      size_ += static_cast<std::int64_t>(file->size() / sizeof(Token));
    }
  }

  [[nodiscard]] std::int64_t size() const override { return size_; }

  void read(std::int64_t first, std::span<std::int64_t> into) const override {
    SAILOR_CHECK(first >= 0 && first + std::ssize(into) <= size_, "tokens from {} of {}", first, size_);
    while (!into.empty()) {
      const auto file = static_cast<std::size_t>(std::ranges::upper_bound(starts_, first) - starts_.begin()) - 1;
      const std::size_t copied = copy(*files_[file], static_cast<std::size_t>(first - starts_[file]), into);
      into = into.subspan(copied);
      first += static_cast<std::int64_t>(copied);
    }
  }

 private:
  // Copies what this file has from its token `offset` on, at most what fits; returns how many tokens that were.
  static std::size_t copy(const MappedFile& file, std::size_t offset, std::span<std::int64_t> into) {
    const std::size_t count = std::min(file.size() / sizeof(Token) - offset, into.size());
    for (std::size_t i = 0; i < count; ++i) {
      Token token;
      std::memcpy(&token, file.data() + (offset + i) * sizeof(Token), sizeof(Token));
      into[i] = token;
    }
    return count;
  }

  std::vector<std::unique_ptr<MappedFile>> files_;
  std::vector<std::int64_t> starts_;  // first token of each file
  std::int64_t size_ = 0;
};

tl::unexpected<Error> bad_data(const DataSpec& data, std::string_view what) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("opening training data {}: {}", data.path, what));
}

// Names in order; empty files left out (they have no tokens, and mmap refuses them).
Result<std::vector<std::string>> matching_files(const DataSpec& data) {
  glob_t found{};
  const int code = glob(data.path.c_str(), 0, nullptr, &found);
  std::vector<std::string> names(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  if (code != 0 && code != GLOB_NOMATCH) return bad_data(data, "the pattern's folder cannot be read");
  if (names.empty()) {
    return bad_data(data,
                    "no file matches; set data.path to a file or a pattern as the trainer's pod sees it, and mount "
                    "the data there (podTemplate)");
  }
  std::erase_if(names, [](const std::string& name) {
    struct stat status {};
    return stat(name.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
  });
  if (names.empty()) return bad_data(data, "it matches only folders; name the files in them, such as folder/*.txt");
  return names;
}

template <class Token>
Result<std::unique_ptr<TokenSource>> open_files(const DataSpec& data) {
  const auto names = matching_files(data);
  if (!names) return tl::unexpected(names.error());
  std::vector<std::unique_ptr<MappedFile>> files;
  for (const std::string& name : *names) {
    auto file = MappedFile::open(name);
    if (!file) return tl::unexpected(file.error());
    if ((*file)->size() % sizeof(Token) != 0) {
      return bad_data(data, fmt::format("{} has {} bytes, no multiple of {}; it is truncated or of another format",
                                        name, (*file)->size(), sizeof(Token)));
    }
    if ((*file)->size() > 0) files.push_back(*std::move(file));
  }
  return std::make_unique<FileTokens<Token>>(std::move(files));
}

// Token files say by their ending how wide a token is: a guess from the content could be wrong for years.
Result<std::unique_ptr<TokenSource>> open_token_files(const DataSpec& data) {
  if (data.path.ends_with(".u32.bin") || data.path.ends_with(".uint32.bin")) return open_files<std::uint32_t>(data);
  return open_files<std::uint16_t>(data);
}

Result<std::unique_ptr<TokenSource>> open_format(const DataSpec& data) {
  switch (data.format) {
    case DataFormat::kBytes:
      return open_files<std::uint8_t>(data);
    case DataFormat::kTokens:
      return open_token_files(data);
    case DataFormat::kMegatron:
      break;
  }
  return bad_data(data,
                  "this trainer does not read format Megatron; convert the data to Tokens (.bin of uint16 or uint32) "
                  "and set data.format accordingly");
}

}  // namespace

Result<std::unique_ptr<TokenSource>> open_tokens(const DataSpec& data, int sequence_length) {
  auto source = open_format(data);
  if (source && (*source)->size() <= sequence_length) {
    return bad_data(data,
                    fmt::format("it has {} tokens, fewer than a sequence of {} and its last target need; add data or "
                                "lower training.sequenceLength",
                                (*source)->size(), sequence_length));
  }
  return source;
}

}  // namespace sailor::trainer
