// Writes a file atomically and durably: after a crash at any moment the file has either the old content or the new one.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "core/model/error.h"

namespace sailor::trainer {

inline std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }
inline std::span<const std::byte> bytes_of(const std::vector<float>& values) {
  return std::as_bytes(std::span(values));
}

// Writes the parts one after the other, and makes the folder if there is none. Fails with kUnavailable.
Result<void> write_durably(const std::filesystem::path& file, const std::vector<std::span<const std::byte>>& parts);

}  // namespace sailor::trainer
