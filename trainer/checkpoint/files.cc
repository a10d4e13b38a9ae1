#include "trainer/checkpoint/files.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "planner/model/check.h"
#include "planner/model/job_json.h"
#include "planner/model/json_reader.h"
#include "trainer/checkpoint/durable_file.h"

namespace sailor::trainer {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "SAILORP1";
constexpr std::string_view kStepPrefix = "step-";
constexpr const char* kManifest = "manifest.json";
constexpr std::uint64_t kLongestHeader = 4096;  // a longer one is not ours

fs::path piece_file(const fs::path& step_folder, int piece) {
  return step_folder / fmt::format("piece-{:03}.bin", piece);
}

std::span<const std::byte> bytes_of(const std::vector<float>& values) { return std::as_bytes(std::span(values)); }
std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string sha256(const std::vector<std::span<const std::byte>>& parts) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  bool is_done = context && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1;
  for (const auto& part : parts) is_done = is_done && EVP_DigestUpdate(context.get(), part.data(), part.size()) == 1;
  is_done = is_done && EVP_DigestFinal_ex(context.get(), digest.data(), &length) == 1;
  SAILOR_CHECK(is_done, "SHA-256 of OpenSSL failed");
  std::string text;
  for (unsigned int i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

tl::unexpected<Error> damaged(const fs::path& file, const std::string& what) {
  return fail(ErrorCode::kUnavailable, fmt::format("reading checkpoint file {}: {}", file.string(), what));
}

struct PieceHeader {
  int piece = 0;
  std::int64_t step = 0;
  std::int64_t elements = 0;
  std::string checksum;
};

Result<PieceHeader> read_header(std::ifstream& stream, const fs::path& file) {
  std::array<char, 8> magic{};
  std::uint64_t length = 0;
  stream.read(magic.data(), magic.size());
  stream.read(reinterpret_cast<char*>(&length), sizeof length);
  if (!stream || std::string_view(magic.data(), magic.size()) != kMagic || length > kLongestHeader) {
    return damaged(file, "it does not begin as a piece file");
  }
  std::string text(length, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(length));
  const auto json = nlohmann::json::parse(text, nullptr, false);
  JsonReader reader(json, "header");
  PieceHeader header{reader.required<int>("piece"), reader.required<std::int64_t>("step"),
                     reader.required<std::int64_t>("elements"), reader.required<std::string>("sha256")};
  if (reader.error()) return damaged(file, reader.error()->message);
  return header;
}

bool read_values(std::ifstream& stream, std::vector<float>& values, std::int64_t count) {
  values.resize(static_cast<std::size_t>(count));
  stream.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
  return static_cast<bool>(stream);
}

std::optional<std::int64_t> step_of(const fs::path& folder) {
  const std::string name = folder.filename().string();
  if (!name.starts_with(kStepPrefix)) return std::nullopt;
  std::int64_t step = 0;
  const char* end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + kStepPrefix.size(), end, step);
  return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(step) : std::nullopt;
}

// All steps that have a folder, newest first.
std::vector<std::int64_t> all_steps(const fs::path& folder) {
  std::vector<std::int64_t> steps;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (const auto step = step_of(entry->path())) steps.push_back(*step);
  }
  std::ranges::sort(steps, std::greater<>());
  return steps;
}

void remove_checkpoint(const fs::path& folder) {
  std::error_code ignored;                  // what cannot be deleted now is tried again after the next checkpoint
  fs::remove(folder / kManifest, ignored);  // first: half a checkpoint must not look complete
  fs::remove_all(folder, ignored);
}

bool is_complete(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / kManifest, error);
}

}  // namespace

fs::path checkpoint_folder(const Assignment& assignment) {
  if (assignment.checkpoint.path.empty()) return {};
  return fs::path(assignment.checkpoint.path) / assignment.job.space / assignment.job.name / assignment.job_uid;
}

fs::path step_folder(const fs::path& folder, std::int64_t step) {
  return folder / fmt::format("{}{:08}", kStepPrefix, step);
}

Result<void> write_piece(const fs::path& step_folder, std::int64_t step, const PieceImage& image) {
  const std::vector<std::span<const std::byte>> payload = {bytes_of(image.weights), bytes_of(image.momentum),
                                                           bytes_of(image.variance)};
  const std::string header = nlohmann::json{
      {"piece", image.piece},
      {"step", step},
      {"elements", image.weights.size()},
      {"sha256",
       sha256(payload)}}.dump();
  const std::uint64_t length = header.size();
  std::vector<std::span<const std::byte>> parts = {bytes_of(kMagic), std::as_bytes(std::span(&length, 1)),
                                                   bytes_of(header)};
  parts.insert(parts.end(), payload.begin(), payload.end());
  return write_durably(piece_file(step_folder, image.piece), parts);
}

Result<PieceImage> read_piece(const fs::path& step_folder, std::int64_t step, int piece) {
  const fs::path file = piece_file(step_folder, piece);
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return damaged(file, std::strerror(errno));
  const auto header = read_header(stream, file);
  if (!header) return tl::unexpected(header.error());
  std::error_code error;
  const auto size = static_cast<std::int64_t>(fs::file_size(file, error));
  if (header->piece != piece || header->step != step || header->elements < 0 || header->elements > size / 12) {
    return damaged(file, fmt::format("it is piece {} of step {} with {} elements in {} bytes", header->piece,
                                     header->step, header->elements, size));
  }
  PieceImage image{.piece = piece, .weights = {}, .momentum = {}, .variance = {}};
  const bool is_read = read_values(stream, image.weights, header->elements) &&
                       read_values(stream, image.momentum, header->elements) &&
                       read_values(stream, image.variance, header->elements);
  if (!is_read) return damaged(file, "it is truncated");
  if (sha256({bytes_of(image.weights), bytes_of(image.momentum), bytes_of(image.variance)}) != header->checksum) {
    return damaged(file, "its content does not match its checksum");
  }
  return image;
}

Result<void> write_manifest(const fs::path& step_folder, const Manifest& manifest) {
  for (const int piece : manifest.pieces) {
    std::error_code error;
    if (!fs::exists(piece_file(step_folder, piece), error)) {
      return fail(ErrorCode::kUnavailable,
                  fmt::format("completing checkpoint {}: piece {} was written by another pod and is not seen here; "
                              "checkpoint.path must be a volume that all pods of the job share",
                              step_folder.string(), piece));
    }
  }
  const std::string text = nlohmann::json{{"format", 1},
                                          {"step", manifest.step},
                                          {"firstLoss", manifest.first_loss},
                                          {"model", to_json(manifest.model)},
                                          {"pieces", manifest.pieces}}
                               .dump(2) +
                           "\n";
  return write_durably(step_folder / kManifest, {bytes_of(text)});
}

Result<Manifest> read_manifest(const fs::path& step_folder) {
  const fs::path file = step_folder / kManifest;
  std::ifstream stream(file);
  if (!stream) return damaged(file, std::strerror(errno));
  const auto json = nlohmann::json::parse(stream, nullptr, false);
  JsonReader reader(json, "manifest");
  Manifest manifest{.step = reader.required<std::int64_t>("step"),
                    .first_loss = reader.required<double>("firstLoss"),
                    .model = {},
                    .pieces = reader.required<std::vector<int>>("pieces")};
  auto model = model_from_json(reader.child("model"), "manifest.model");
  if (model) manifest.model = *std::move(model);
  if (!model) reader.absorb(model.error());
  if (reader.error()) return damaged(file, reader.error()->message);
  return manifest;
}

std::vector<std::int64_t> complete_checkpoints(const fs::path& folder) {
  std::vector<std::int64_t> steps = all_steps(folder);
  std::erase_if(steps, [&](std::int64_t step) { return !is_complete(step_folder(folder, step)); });
  return steps;
}

void delete_old_checkpoints(const fs::path& folder, int keep) {
  const std::vector<std::int64_t> complete = complete_checkpoints(folder);
  if (complete.empty()) return;
  for (std::size_t i = static_cast<std::size_t>(std::max(keep, 1)); i < complete.size(); ++i) {
    remove_checkpoint(step_folder(folder, complete[i]));
  }
  delete_incomplete_checkpoints(folder, complete.front());
}

void delete_incomplete_checkpoints(const fs::path& folder, std::int64_t before) {
  for (const std::int64_t step : all_steps(folder)) {
    if (step < before && !is_complete(step_folder(folder, step))) remove_checkpoint(step_folder(folder, step));
  }
}

}  // namespace sailor::trainer
