#include "trainer/data/megatron.h"

#include <cstring>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace sailor::trainer {
namespace {

constexpr std::string_view kMagic{"MMIDIDX\0\0", 9};
constexpr std::uint64_t kVersion = 1;
constexpr std::size_t kHeaderSize = 9 + 8 + 1 + 8 + 8;
constexpr std::size_t kBytesOfSequence = 4 + 8;

template <class T>
T value_at(const MappedFile& file, std::size_t offset) {  // the numbers in the file are not aligned
  T value;
  std::memcpy(&value, file.data() + offset, sizeof(T));
  return value;
}

std::optional<TokenType> type_of_code(std::uint8_t code) {  // codes 6 and 7 are floating-point types
  switch (code) {
    case 1:
      return TokenType::kUint8;
    case 2:
      return TokenType::kInt8;
    case 3:
      return TokenType::kInt16;
    case 4:
      return TokenType::kInt32;
    case 5:
      return TokenType::kInt64;
    case 8:
      return TokenType::kUint16;
    default:
      return std::nullopt;
  }
}

tl::unexpected<Error> bad_index(const std::string& name, std::string_view what) {
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("opening training data {}: {}; write the data again with Megatron-LM's preprocess_data.py, "
                          "or copy both files again",
                          name, what));
}

struct Header {
  TokenType type = TokenType::kUint16;
  std::uint64_t sequences = 0;
  std::uint64_t document_bounds = 0;
};

Result<Header> read_header(const MappedFile& index, const std::string& name) {
  if (index.size() < kHeaderSize || std::memcmp(index.data(), kMagic.data(), kMagic.size()) != 0) {
    return bad_index(name, "it does not start with the magic bytes of a Megatron index");
  }
  if (const auto version = value_at<std::uint64_t>(index, 9); version != kVersion) {
    return bad_index(name, fmt::format("its version is {}, this trainer reads version {}", version, kVersion));
  }
  const auto code = value_at<std::uint8_t>(index, 17);
  const auto type = type_of_code(code);
  if (!type) return bad_index(name, fmt::format("its token type has the code {}, which is not an integer type", code));
  const Header header{*type, value_at<std::uint64_t>(index, 18), value_at<std::uint64_t>(index, 26)};
  const std::size_t room = index.size() - kHeaderSize;
  if (header.sequences > room / kBytesOfSequence ||
      header.document_bounds > (room - header.sequences * kBytesOfSequence) / 8) {
    return bad_index(name, fmt::format("it is truncated: {} bytes for {} sequences", index.size(), header.sequences));
  }
  return header;
}

// Checks that the sequences follow each other without a gap and fill the .bin, and that the documents contain all of
// them.
Result<void> check_sequences(const MappedFile& index, const std::string& name, const Header& header,
                             std::size_t bin_size) {
  const std::size_t lengths = kHeaderSize;
  const std::size_t pointers = lengths + 4 * header.sequences;
  const std::size_t bounds = pointers + 8 * header.sequences;
  std::uint64_t next = 0;
  for (std::uint64_t i = 0; i < header.sequences; ++i) {
    const auto length = value_at<std::int32_t>(index, lengths + 4 * i);
    if (length < 0 || value_at<std::uint64_t>(index, pointers + 8 * i) != next) {
      return bad_index(name, fmt::format("its sequence {} does not start where the previous one ends", i));
    }
    next += static_cast<std::uint64_t>(length) * bytes_of(header.type);
  }
  if (next != bin_size) {
    return bad_index(name, fmt::format("it describes {} bytes of tokens, the .bin beside it has {}", next, bin_size));
  }
  const bool has_bounds = header.document_bounds > 0;
  if (has_bounds && value_at<std::uint64_t>(index, bounds + 8 * (header.document_bounds - 1)) != header.sequences) {
    return bad_index(name, "its last document does not end with its last sequence");
  }
  return {};
}

}  // namespace

Result<TokenFile> open_megatron(const std::string& bin_file) {
  const std::string name = bin_file.substr(0, bin_file.size() - std::string_view(".bin").size()) + ".idx";
  const auto index = MappedFile::open(name);
  if (!index) return tl::unexpected(index.error());
  const auto header = read_header(**index, name);
  if (!header) return tl::unexpected(header.error());
  auto content = MappedFile::open(bin_file);
  if (!content) return tl::unexpected(content.error());
  if (auto checked = check_sequences(**index, name, *header, (*content)->size()); !checked) {
    return tl::unexpected(checked.error());
  }
  return TokenFile{bin_file, *std::move(content), header->type};
}

}  // namespace sailor::trainer
