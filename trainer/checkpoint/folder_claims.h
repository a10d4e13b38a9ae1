// The claims of a job's checkpoint folder (core/protocol/claim.h): a file for each generation that has claimed it.
//
//   <folder of the job>/claims/00000012   empty; or the number of the generation that has superseded the claim
//
// A claim is superseded by a write to its file, and read by opening the file. So the file systems that are usual for
// checkpoints show the change at once: whoever opens a file sees what was written before it was closed (NFS calls this
// close-to-open consistency). They may show a new file in a folder later.
#pragma once

#include <cstdint>
#include <filesystem>

#include "core/model/error.h"

namespace sailor::trainer {

// Claims the folder for a generation. Does not change a claim that is there already.
Result<void> claim_folder(const std::filesystem::path& folder, std::int64_t generation);

// Supersedes the claim of the older generation, durably. Fails if that claim is not there.
Result<void> supersede_claim(const std::filesystem::path& folder, std::int64_t older, std::int64_t generation);

// Returns the generation that has superseded the claim of this one; 0: none has. Fails if the claim cannot be read.
Result<std::int64_t> superseded_by(const std::filesystem::path& folder, std::int64_t generation);

}  // namespace sailor::trainer
