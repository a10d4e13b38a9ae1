// The host memory that is left to this process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace sailor::trainer {

// Returns how many bytes the process may still allocate before Linux ends a process: what the machine has available, or
// less if a control group (version 2) of the process has a limit. Returns nothing if the machine does not say it.
// `root` is the folder with proc/ and sys/.
std::optional<std::int64_t> available_host_memory(const std::filesystem::path& root = "/");

}  // namespace sailor::trainer
