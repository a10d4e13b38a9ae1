// Claims of a checkpoint folder: they let a generation of a single pod train while the operator is away.
//
// Such a generation needs a lease (core/protocol/lease.h). Its agent claims the checkpoint folder for the generation.
// While the operator does not answer, the agent renews the lease itself, as long as no newer generation has superseded
// the claim. So before the operator lets a newer generation train elsewhere, it asks an agent of that generation to
// supersede the claim, and waits for the length of a lease.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "core/model/error.h"
#include "core/model/ids.h"

namespace sailor {

// The operator's request to supersede the claim of an older generation.
struct FolderClaim {
  JobKey job;
  std::string job_uid;
  std::string path;                   // CheckpointSpec::path of the job
  std::int64_t generation = 0;        // the newer generation
  std::int64_t older_generation = 0;  // if its claim is not there, the pods of the two do not share the folder
  friend bool operator==(const FolderClaim&, const FolderClaim&) = default;
};

nlohmann::json to_json(const FolderClaim& claim);
Result<FolderClaim> folder_claim_from_json(const nlohmann::json& json);

// Returns whether the agent of a generation may renew its lease by its claim, given the generation that has superseded
// the claim (0: none).
inline bool folder_renews(std::int64_t superseded_by) { return superseded_by == 0; }

// Fails unless the names can be parts of a path: they are not empty and contain no slash, and none is "." or "..".
Result<void> check_path_names(const JobKey& job, const std::string& job_uid);

}  // namespace sailor
