#include "core/protocol/claim.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/model/json_reader.h"

namespace sailor {
namespace {

bool is_path_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

}  // namespace

nlohmann::json to_json(const FolderClaim& claim) {
  return {{"namespace", claim.job.namespace_name},
          {"job", claim.job.name},
          {"jobUid", claim.job_uid},
          {"path", claim.path},
          {"generation", claim.generation},
          {"olderGeneration", claim.older_generation}};
}

Result<FolderClaim> folder_claim_from_json(const nlohmann::json& json) {
  JsonReader reader(json, "claim");
  FolderClaim claim{{reader.required<std::string>("namespace"), reader.required<std::string>("job")},
                    reader.required<std::string>("jobUid"),
                    reader.required<std::string>("path"),
                    reader.required<std::int64_t>("generation"),
                    reader.required<std::int64_t>("olderGeneration")};
  if (claim.path.empty()) reader.record("path", "must not be empty");
  if (claim.older_generation < 1) reader.record("olderGeneration", "must be at least 1");
  if (claim.generation <= claim.older_generation) reader.record("generation", "must be newer than olderGeneration");
  if (const auto& error = reader.error()) return tl::unexpected(*error);
  if (auto checked = check_path_names(claim.job, claim.job_uid); !checked) return tl::unexpected(checked.error());
  return claim;
}

Result<void> check_path_names(const JobKey& job, const std::string& job_uid) {
  const std::string* names[] = {&job.namespace_name, &job.name, &job_uid};
  const auto wrong = std::ranges::find_if(names, [](const std::string* name) { return !is_path_name(*name); });
  if (wrong == std::end(names)) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("namespace, name and UID of the job are parts of a path, so none can be \"{}\"", **wrong));
}

}  // namespace sailor
