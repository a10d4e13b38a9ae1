#include "trainer/data/token_source.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>

#include "trainer/data/megatron.h"
#include "trainer/data/token_files.h"

namespace sailor::trainer {
namespace {

tl::unexpected<Error> bad_data(const DataSpec& data, std::string_view what) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("opening training data {}: {}", data.path, what));
}

// Names in order, folders left out.
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
    return bad_data(data, fmt::format("{} has {} bytes, no multiple of {}; it is truncated or of another format", name,
                                      (*content)->size(), bytes_of(type)));
  }
  return TokenFile{name, *std::move(content), type};
}

// Token files say by their ending how wide a token is: a guess from the content could be wrong for years.
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

// Megatron's own way to name a data set is the path without .bin and .idx.
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

Result<std::unique_ptr<TokenSource>> open_tokens(const DataSpec& data, int sequence_length) {
  auto files = open_files(data);
  if (!files) return tl::unexpected(files.error());
  auto source = std::make_unique<TokenFiles>(*std::move(files));
  if (source->size() <= sequence_length) {
    return bad_data(data,
                    fmt::format("it has {} tokens, fewer than a sequence of {} and its last target need; add data or "
                                "lower training.sequenceLength",
                                source->size(), sequence_length));
  }
  return source;
}

}  // namespace sailor::trainer
