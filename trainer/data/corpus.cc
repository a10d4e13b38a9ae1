#include "trainer/data/corpus.h"

#include <algorithm>

#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>

#include "core/model/check.h"
#include "trainer/data/megatron.h"

namespace sailor::trainer {
namespace {

tl::unexpected<Error> bad_data(const DataSpec& data, std::string_view what) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("opening training data {}: {}", data.path, what));
}

// Returns the names in alphabetical order, without folders.
Result<std::vector<std::string>> matching_files(const DataSpec& data, const std::string& pattern) {
  glob_t found{};
  const int code = glob(pattern.c_str(), 0, nullptr, &found);
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

Result<TokenFile> open_plain(const DataSpec& data, const std::string& name, TokenType type) {
  auto content = MappedFile::open(name);
  if (!content) return tl::unexpected(content.error());
  if ((*content)->size() % bytes_of(type) != 0) {
    return bad_data(
        data, fmt::format("{} has {} bytes, which is not a multiple of {}; it is truncated or has another format", name,
                          (*content)->size(), bytes_of(type)));
  }
  return TokenFile{name, *std::move(content), type};
}

// The file name tells how wide a token is. A guess from the content could be wrong without being noticed.
TokenType type_of_name(const std::string& name) {
  const bool is_wide = name.ends_with(".u32.bin") || name.ends_with(".uint32.bin");
  return is_wide ? TokenType::kUint32 : TokenType::kUint16;
}

Result<TokenFile> open_file(const DataSpec& data, const std::string& name) {
  switch (data.format) {
    case DataFormat::kBytes:
      return open_plain(data, name, TokenType::kUint8);
    case DataFormat::kTokens:
      return open_plain(data, name, type_of_name(name));
    case DataFormat::kMegatron:
      return open_megatron(name);
  }
  return bad_data(data, "its format is unknown");
}

// Megatron names a data set by its path without .bin and .idx.
std::string pattern_of(const DataSpec& data) {
  if (data.format != DataFormat::kMegatron || data.path.ends_with(".bin")) return data.path;
  return data.path + ".bin";
}

Result<std::vector<TokenFile>> open_files(const DataSpec& data) {
  const auto names = matching_files(data, pattern_of(data));
  if (!names) return tl::unexpected(names.error());
  std::vector<TokenFile> files;
  for (const std::string& name : *names) {
    auto file = open_file(data, name);
    if (!file) return tl::unexpected(file.error());
    if (file->content->size() > 0) files.push_back(*std::move(file));
  }
  if (files.empty()) return bad_data(data, "all files that match are empty; name files that have content");
  return files;
}

}  // namespace

Result<std::unique_ptr<Corpus>> Corpus::open(const DataSpec& data, int sequence_length) {
  auto files = open_files(data);
  if (!files) return tl::unexpected(files.error());
  std::unique_ptr<Corpus> corpus(new Corpus(*std::move(files)));
  if (corpus->size() <= sequence_length) {
    return bad_data(data,
                    fmt::format("it has {} tokens, fewer than a sequence of {} and its last target need; add data or "
                                "lower training.sequenceLength",
                                corpus->size(), sequence_length));
  }
  return corpus;
}

Corpus::Corpus(std::vector<TokenFile> files) : files_(std::move(files)) {
  for (const TokenFile& file : files_) {
    starts_.push_back(size_);
    size_ += file.size();
  }
}

void Corpus::read(std::int64_t first, std::span<std::int64_t> into) const {
  SAILOR_CHECK(first >= 0 && first + std::ssize(into) <= size_, "tokens from {} of {}", first, size_);
  while (!into.empty()) {
    const std::size_t index = file_of(first);
    const TokenFile& file = files_[index];
    const std::int64_t offset = first - starts_[index];
    const auto count = std::min(file.size() - offset, std::ssize(into));
    file.read(offset, into.first(static_cast<std::size_t>(count)));
    into = into.subspan(static_cast<std::size_t>(count));
    first += count;
  }
}

std::string Corpus::describe_position(std::int64_t token) const {
  const std::size_t index = file_of(token);
  return fmt::format("{} at token {}", files_[index].name, token - starts_[index]);
}

std::size_t Corpus::file_of(std::int64_t token) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(starts_, token) - starts_.begin()) - 1;
}

}  // namespace sailor::trainer
