#include "trainer/weights/safetensors.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <numeric>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sailor::trainer {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLengthSize = 8;
constexpr std::size_t kAlignment = 8;  // alignment of the data; the header is padded with blanks

tl::unexpected<Error> unreadable(const std::filesystem::path& file, std::string_view what) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("reading weights {}: {}", file.string(), what));
}

std::size_t bytes_of_type(std::string_view type) {
  if (type == "F32") return 4;
  return type == "F16" || type == "BF16" ? 2 : 0;
}

std::size_t elements_of(const std::vector<std::int64_t>& shape) {
  return static_cast<std::size_t>(std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>()));
}

float from_bfloat16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

float from_half(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int fraction = bits & 0x3ff;
  const float sign = (bits & 0x8000) != 0 ? -1.0F : 1.0F;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  if (exponent == 31) return fraction == 0 ? sign * INFINITY : NAN;
  return sign * std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
}

bool is_list_of_sizes(const Json& list) {
  return list.is_array() && std::ranges::all_of(list, [](const Json& size) { return size.is_number_unsigned(); });
}

bool describes_a_tensor(const Json& entry) {
  return entry.is_object() && entry.contains("dtype") && entry["dtype"].is_string() && entry.contains("shape") &&
         is_list_of_sizes(entry["shape"]) && entry.contains("data_offsets") &&
         is_list_of_sizes(entry["data_offsets"]) && entry["data_offsets"].size() == 2;
}

std::string header_of(const std::vector<TensorToWrite>& tensors) {
  nlohmann::ordered_json header;
  header["__metadata__"] = {{"format", "pt"}};
  std::size_t offset = 0;
  for (const TensorToWrite& tensor : tensors) {
    const std::size_t size = elements_of(tensor.shape) * sizeof(float);
    header[tensor.name] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {offset, offset + size}}};
    offset += size;
  }
  std::string text = header.dump();
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  return text;
}

}  // namespace

Result<std::unique_ptr<SafetensorsFile>> SafetensorsFile::open(const std::filesystem::path& file) {
  auto content = MappedFile::open(file.string());
  if (!content) return unreadable(file, content.error().message);
  std::unique_ptr<SafetensorsFile> opened(new SafetensorsFile(file, *std::move(content)));
  if (auto header = opened->read_header(); !header) return tl::unexpected(header.error());
  return opened;
}

Result<void> SafetensorsFile::read_header() {
  std::uint64_t length = 0;
  if (content_->size() < kLengthSize) return unreadable(path_, "it is too short for a safetensors file");
  std::memcpy(&length, content_->data(), kLengthSize);
  if (length > content_->size() - kLengthSize) {
    return unreadable(path_, "its header ends beyond the file; it is truncated or not a safetensors file");
  }
  const auto* text = reinterpret_cast<const char*>(content_->data()) + kLengthSize;
  const Json header = Json::parse(text, text + length, nullptr, false);
  if (!header.is_object()) return unreadable(path_, "its header is not a JSON object; it is not a safetensors file");
  const std::size_t data = kLengthSize + length;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    if (!describes_a_tensor(entry))
      return unreadable(path_, fmt::format("the header entry of tensor {} is invalid", name));
    const auto begin = entry["data_offsets"][0].get<std::size_t>();
    const auto end = entry["data_offsets"][1].get<std::size_t>();
    if (begin > end || end > content_->size() - data) {
      return unreadable(path_, fmt::format("tensor {} ends beyond the file, which is truncated; copy it again", name));
    }
    tensors_.emplace(name, Tensor{entry["dtype"].get<std::string>(), entry["shape"].get<std::vector<std::int64_t>>(),
                                  data + begin, data + end});
  }
  return {};
}

Result<void> SafetensorsFile::check(const Tensor& tensor) const {
  const std::size_t width = bytes_of_type(tensor.type);
  if (width == 0) {
    return unreadable(path_, fmt::format("it has tensors of type {}; convert it to F32, F16 or BF16", tensor.type));
  }
  if (tensor.end - tensor.begin != width * elements_of(tensor.shape)) {
    return unreadable(path_, "the size of a tensor does not match its shape");
  }
  return {};
}

Result<std::vector<float>> SafetensorsFile::values(const Tensor& tensor) const {
  if (auto readable = check(tensor); !readable) return tl::unexpected(readable.error());
  std::vector<float> values(elements_of(tensor.shape));
  const std::byte* from = content_->data() + tensor.begin;
  if (tensor.type == "F32") {
    std::memcpy(values.data(), from, tensor.end - tensor.begin);
    return values;
  }
  const auto widen = tensor.type == "F16" ? from_half : from_bfloat16;
  for (float& value : values) {
    std::uint16_t bits;
    std::memcpy(&bits, from, sizeof bits);
    value = widen(bits);
    from += sizeof bits;
  }
  return values;
}

Result<void> write_safetensors(const std::filesystem::path& file, const std::vector<TensorToWrite>& tensors,
                               const std::function<Result<std::vector<float>>(std::size_t index)>& values) {
  const std::filesystem::path partial = file.string() + ".part";
  std::ofstream stream(partial, std::ios::binary | std::ios::trunc);
  const std::string header = header_of(tensors);
  const std::uint64_t length = header.size();
  stream.write(reinterpret_cast<const char*>(&length), sizeof length);
  stream << header;
  for (std::size_t i = 0; i < tensors.size() && stream; ++i) {
    const auto elements = values(i);
    if (!elements) {
      std::error_code ignored;
      std::filesystem::remove(partial, ignored);
      return tl::unexpected(elements.error());
    }
    stream.write(reinterpret_cast<const char*>(elements->data()),
                 static_cast<std::streamsize>(elements->size() * sizeof(float)));
  }
  stream.close();
  std::error_code renamed;
  if (stream) std::filesystem::rename(partial, file, renamed);
  if (stream && !renamed) return {};
  const std::string why = renamed ? renamed.message() : std::strerror(errno);
  std::filesystem::remove(partial, renamed);
  return fail(ErrorCode::kUnavailable,
              fmt::format("writing weights {}: {}; free space, or write into another folder", file.string(), why));
}

}  // namespace sailor::trainer
