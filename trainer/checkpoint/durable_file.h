// Writes a file so that a crash at any moment leaves either the old content or the new.
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
