#include "operator/model/changes.h"

#include <algorithm>
#include <array>

#include "operator/kube/resource.h"
#include "operator/model/cluster_view.h"
#include "operator/model/gpu_claims.h"
#include "operator/model/job_status.h"
#include "operator/model/rival.h"

namespace sailor {
namespace {

using kube::Json;
using kube::Path;

bool is_same_at(const Json& one, const Json& other, Path path) {
  const Json* left = kube::find_at(one, path);
  const Json* right = kube::find_at(other, path);
  return left == nullptr || right == nullptr ? left == right : *left == *right;
}

// Compares all fields of two objects but one.
bool is_same_without(const Json& one, const Json& other, std::string_view field) {
  if (!one.is_object() || !other.is_object()) return one == other;
  const auto has_equal = [&](const Json& here, const Json& there) {
    for (const auto& [name, value] : here.items()) {
      if (name == field) continue;
      const auto found = there.find(name);
      if (found == there.end() || *found != value) return false;
    }
    return true;
  };
  return has_equal(one, other) && has_equal(other, one);
}

const Json& status_of(const Json& object) {
  static const Json none = Json::object();
  const Json* status = kube::find_at(object, {"status"});
  return status == nullptr ? none : *status;
}

std::string readiness(const Json& node) {
  const Json* ready = kube::find_condition(node, "Ready");
  return ready == nullptr ? "" : kube::text_at(*ready, {"status"});
}

struct GpuUse {
  std::string node;
  int gpus = 0;
  friend bool operator==(const GpuUse&, const GpuUse&) = default;
};

GpuUse use_of(const Json* pod) {
  if (pod == nullptr) return {};
  const int gpus = gpus_of_pod(*pod);
  return gpus == 0 ? GpuUse{} : GpuUse{node_of_pod(*pod), gpus};
}

}  // namespace

bool changes_job(const Json* before, const Json* now) {
  if (before == nullptr || now == nullptr) return true;
  for (const char* field : {"uid", "generation", "deletionTimestamp", "labels", "annotations"}) {
    if (!is_same_at(*before, *now, {"metadata", field})) return true;
  }
  return !is_same_at(*before, *now, {"spec"}) || !is_same_without(status_of(*before), status_of(*now), "progress");
}

bool changes_pool(const Json* before, const Json* now) {
  return before == nullptr || now == nullptr || !is_same_at(*before, *now, {"metadata", "uid"}) ||
         !is_same_at(*before, *now, {"spec"});
}

bool changes_capacity_of_node(const Json* before, const Json* now) {
  if (before == nullptr || now == nullptr) return true;
  constexpr std::array<std::string_view, 3> kMetadata = {"uid", "labels", "deletionTimestamp"};
  const bool is_same_metadata = std::ranges::all_of(kMetadata, [&](std::string_view field) {
    return is_same_at(*before, *now, {"metadata", field});
  });
  return !is_same_metadata || !is_same_at(*before, *now, {"spec"}) ||
         !is_same_at(*before, *now, {"status", "allocatable"}) || readiness(*before) != readiness(*now);
}

bool changes_gpu_use(const Json* before, const Json* now) { return use_of(before) != use_of(now); }

bool frees_gpus(const Json* before, const Json* now) {
  const GpuUse was = use_of(before);
  const GpuUse is = use_of(now);
  return was.gpus > 0 && (is.node != was.node || is.gpus < was.gpus);
}

ConcernedJobs concerned_jobs(const Json* before, const Json* now) {
  const auto state_of = [](const Json* job) {
    return job == nullptr || !may_use_gpus(*job) ? RivalState::kHolds : state_without_gpus(*job);
  };
  const RivalState was = state_of(before);
  const RivalState is = state_of(now);
  if (was == RivalState::kWaits && is == RivalState::kHolds) return ConcernedJobs::kAll;
  return was == RivalState::kUndecided && is != was ? ConcernedJobs::kWaiting : ConcernedJobs::kNone;
}

std::optional<JobKey> owner_of(const Json& object) {
  for (const Json& owner : kube::list_at(object, {"metadata", "ownerReferences"})) {
    const bool is_job =
        kube::text_at(owner, {"kind"}) == kube::kTrainingJobs.kind && kube::bool_at(owner, {"controller"});
    if (is_job) return JobKey{kube::namespace_of(object), kube::text_at(owner, {"name"})};
  }
  return std::nullopt;
}

}  // namespace sailor
