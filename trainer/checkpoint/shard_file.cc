#include "trainer/checkpoint/shard_file.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <span>

#include <fmt/format.h>

#include "core/model/json_reader.h"
#include "core/model/sha256.h"
#include "trainer/checkpoint/durable_file.h"

namespace sailor::trainer {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "SAILORP2";
constexpr std::uint64_t kLongestHeader = 1 << 20;  // a longer one means that this is not our file

std::string sha256(std::string_view header, const std::vector<std::span<const std::byte>>& parts) {
  Sha256 sum;
  sum.add(bytes_of(header));
  for (const auto& part : parts) sum.add(part);
  return sum.hex();
}

struct ShardFileHeader {
  int layer_state = 0;
  std::int64_t step = 0;
  std::int64_t generation = 0;
  std::vector<Slice> slices;
  std::int64_t elements = 0;
  std::string checksum;
  std::string checked;  // the header's other fields, which the checksum covers too
};

nlohmann::json slices_json(const std::vector<Slice>& slices) {
  auto json = nlohmann::json::array();
  for (const Slice& slice : slices) json.push_back({slice.tensor, slice.begin, slice.end});
  return json;
}

std::vector<Slice> slices_from(JsonReader& reader) {
  std::vector<Slice> slices;
  for (const auto& entry : reader.required<std::vector<std::vector<std::int64_t>>>("ranges")) {
    if (entry.size() != 3) {
      reader.record("ranges", "each has three numbers: tensor, begin, end");
      return {};
    }
    slices.push_back({static_cast<int>(entry[0]), entry[1], entry[2]});
  }
  return slices;
}

Result<ShardFileHeader> read_header(std::ifstream& stream, const fs::path& file) {
  std::array<char, 8> magic{};
  std::uint64_t length = 0;
  stream.read(magic.data(), magic.size());
  stream.read(reinterpret_cast<char*>(&length), sizeof length);
  if (!stream || std::string_view(magic.data(), magic.size()) != kMagic || length > kLongestHeader) {
    return damaged(file, "it does not start with the magic bytes of a checkpoint file");
  }
  std::string text(length, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(length));
  auto json = nlohmann::json::parse(text, nullptr, false);
  JsonReader reader(json, "header");
  ShardFileHeader header{reader.required<int>("piece"),
                         reader.required<std::int64_t>("step"),
                         reader.optional<std::int64_t>("generation").value_or(0),
                         slices_from(reader),
                         reader.required<std::int64_t>("elements"),
                         reader.required<std::string>("sha256"),
                         {}};
  if (reader.error()) return damaged(file, reader.error()->message);
  json.erase("sha256");
  header.checked = json.dump();
  return header;
}

bool read_values(std::ifstream& stream, std::vector<float>& values, std::int64_t count) {
  values.resize(static_cast<std::size_t>(count));
  stream.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
  return static_cast<bool>(stream);
}

}  // namespace

tl::unexpected<Error> damaged(const fs::path& file, const std::string& what) {
  return fail(ErrorCode::kUnavailable, fmt::format("reading checkpoint file {}: {}", file.string(), what));
}

fs::path shard_file(const fs::path& step_folder, const ShardFileName& name) {
  return step_folder / fmt::format("piece-{:03}-{:02}.bin", name.layer_state, name.writer);
}

Result<void> write_shard_file(const fs::path& step_folder, std::int64_t step, const SavedShard& saved) {
  const std::vector<std::span<const std::byte>> payload = {bytes_of(saved.weights), bytes_of(saved.momentum),
                                                           bytes_of(saved.variance)};
  nlohmann::json header = {{"piece", saved.layer_state},
                           {"step", step},
                           {"generation", saved.generation},
                           {"ranges", slices_json(saved.slices)},
                           {"elements", saved.weights.size()}};
  header["sha256"] = sha256(header.dump(), payload);
  const std::string text = header.dump();
  const std::uint64_t length = text.size();
  std::vector<std::span<const std::byte>> parts = {bytes_of(kMagic), std::as_bytes(std::span(&length, 1)),
                                                   bytes_of(text)};
  parts.insert(parts.end(), payload.begin(), payload.end());
  return write_durably(shard_file(step_folder, {saved.layer_state, saved.writer}), parts);
}

bool is_written_in(std::int64_t generation, const fs::path& step_folder, const ShardFileName& name) {
  const fs::path file = shard_file(step_folder, name);
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return false;
  const auto header = read_header(stream, file);
  return header && header->generation == generation;
}

Result<std::vector<Slice>> read_slices(const fs::path& step_folder, const ShardFileName& name) {
  const fs::path file = shard_file(step_folder, name);
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return damaged(file, std::strerror(errno));
  auto header = read_header(stream, file);
  if (!header) return tl::unexpected(header.error());
  return std::move(header->slices);
}

Result<SavedShard> read_shard_file(const fs::path& step_folder, std::int64_t step, const ShardFileName& name) {
  const fs::path file = shard_file(step_folder, name);
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return damaged(file, std::strerror(errno));
  const auto header = read_header(stream, file);
  if (!header) return tl::unexpected(header.error());
  std::error_code error;
  const auto size = static_cast<std::int64_t>(fs::file_size(file, error));
  if (header->layer_state != name.layer_state || header->step != step || header->elements < 0 ||
      header->elements > size / 12) {
    return damaged(file, fmt::format("it is layer state {} of step {} with {} elements in {} bytes",
                                     header->layer_state, header->step, header->elements, size));
  }
  SavedShard saved{name.layer_state, name.writer, header->slices, {}, {}, {}, header->generation};
  const bool is_read = read_values(stream, saved.weights, header->elements) &&
                       read_values(stream, saved.momentum, header->elements) &&
                       read_values(stream, saved.variance, header->elements);
  if (!is_read) return damaged(file, "it is truncated");
  const auto payload = {bytes_of(saved.weights), bytes_of(saved.momentum), bytes_of(saved.variance)};
  if (sha256(header->checked, payload) != header->checksum) {
    return damaged(file, "its content does not match its checksum");
  }
  return saved;
}

}  // namespace sailor::trainer
