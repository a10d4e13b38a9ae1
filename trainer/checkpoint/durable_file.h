// Writes a file atomically and durably: after a crash at any moment the file has either the old content or the new one.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/model/error.h"

namespace sailor::trainer {

Result<void> write_durably(const std::filesystem::path& file, const std::vector<std::span<const std::byte>>& parts);

}  // namespace sailor::trainer
