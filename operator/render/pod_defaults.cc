#include "operator/render/pod_defaults.h"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "core/protocol/credentials.h"
#include "operator/model/names.h"

namespace sailor {
namespace {

using kube::Json;

constexpr const char* kSharedMemory = "sailor-shm";
constexpr const char* kSharedMemoryPath = "/dev/shm";
constexpr const char* kCredentials = "sailor-credentials";
constexpr const char* kDriverPath = "/usr/local/nvidia/lib64";  // where GKE mounts the libraries of its driver
constexpr int kImageGroup = 65532;                              // the user and the group of the trainer's image
constexpr int kMillicoresPerGpu = 500;
constexpr int kMebibytesPerGpu = 1024;

Json* find_trainer(Json& spec) {
  for (Json& container : spec["containers"]) {
    if (kube::text_at(container, {"name"}) == kTrainerContainer) return &container;
  }
  return nullptr;
}

// Returns the container of the template that is merged over the trainer's; null: there is none.
const Json* find_stated_trainer(const Json& pod_template) {
  for (const Json& container : kube::list_at(pod_template, {"spec", "containers"})) {
    if (kube::text_at(container, {"name"}) == kTrainerContainer) return &container;
  }
  return nullptr;
}

bool mounts_own_shared_memory(const Json& trainer) {
  return std::ranges::none_of(kube::list_at(trainer, {"volumeMounts"}),
                              [](const Json& mount) { return kube::text_at(mount, {"name"}) == kSharedMemory; });
}

void drop_unused_shared_memory(Json& spec, const Json& trainer) {
  if (!mounts_own_shared_memory(trainer) || !spec["volumes"].is_array()) return;
  std::erase_if(spec["volumes"].get_ref<Json::array_t&>(),
                [](const Json& volume) { return kube::text_at(volume, {"name"}) == kSharedMemory; });
}

// Kubernetes takes a limit as the request if there is no request, and refuses a request above its limit.
void drop_requests_below_stated_limits(Json& trainer, const Json& stated) {
  const Json* limits = kube::find_at(stated, {"resources", "limits"});
  if (limits == nullptr || !limits->is_object()) return;
  for (const auto& [resource, quantity] : limits->items()) {
    const bool is_ours = resource == "cpu" || resource == "memory";
    const bool is_stated = kube::find_at(stated, {"resources", "requests", resource}) != nullptr;
    if (is_ours && !is_stated) trainer["resources"]["requests"].erase(resource);
  }
}

bool states_root(const Json& security) {
  const Json* user = kube::find_at(security, {"runAsUser"});
  return user != nullptr && *user == 0;
}

void allow_stated_root(Json& spec, const Json& pod_template, const Json* stated_trainer) {
  const Json* of_pod = kube::find_at(pod_template, {"spec", "securityContext"});
  const Json* of_trainer = stated_trainer == nullptr ? nullptr : kube::find_at(*stated_trainer, {"securityContext"});
  const bool asks_for_root =
      (of_pod != nullptr && states_root(*of_pod)) || (of_trainer != nullptr && states_root(*of_trainer));
  const bool states_rule = of_pod != nullptr && of_pod->contains("runAsNonRoot");
  if (asks_for_root && !states_rule) spec["securityContext"].erase("runAsNonRoot");
}

// The API server refuses a privileged container that may not escalate its privileges.
void allow_stated_privileges(Json& trainer, const Json& stated) {
  const bool is_privileged = kube::bool_at(stated, {"securityContext", "privileged"});
  const bool states_rule = kube::find_at(stated, {"securityContext", "allowPrivilegeEscalation"}) != nullptr;
  if (is_privileged && !states_rule) trainer["securityContext"].erase("allowPrivilegeEscalation");
}

// Returns whether Kubernetes can give the volume to a group. It never does so for the other kinds, or need not.
bool has_group(const Json& volume) {
  return std::ranges::any_of(std::array{"persistentVolumeClaim", "csi", "ephemeral", "gcePersistentDisk"},
                             [&](const char* kind) { return volume.contains(kind); });
}

void give_volumes_to_group(Json& spec) {
  Json& security = spec["securityContext"];
  const Json volumes = kube::list_at(spec, {"volumes"});
  if (!security.is_object() || security.contains("fsGroup") || std::ranges::none_of(volumes, has_group)) return;
  security["fsGroup"] = kImageGroup;
  // Otherwise Kubernetes visits every file of the checkpoints at each start of a pod.
  if (!security.contains("fsGroupChangePolicy")) security["fsGroupChangePolicy"] = "OnRootMismatch";
}

}  // namespace

void add_pod_defaults(Json& spec, const std::string& secret) {
  spec["securityContext"] = {{"runAsNonRoot", true}, {"seccompProfile", {{"type", "RuntimeDefault"}}}};
  spec["volumes"] = Json::array({{{"name", kSharedMemory}, {"emptyDir", {{"medium", "Memory"}}}},
                                 {{"name", kCredentials}, {"secret", {{"secretName", secret}}}}});
}

void add_container_defaults(Json& container, int gpus) {
  container["securityContext"] = {{"allowPrivilegeEscalation", false},
                                  {"capabilities", {{"drop", Json::array({"ALL"})}}}};
  container["volumeMounts"] =
      Json::array({{{"name", kSharedMemory}, {"mountPath", kSharedMemoryPath}},
                   {{"name", kCredentials}, {"mountPath", kCredentialsFolder}, {"readOnly", true}}});
  container["env"].push_back({{"name", "LD_LIBRARY_PATH"}, {"value", kDriverPath}});
  container["resources"]["requests"]["cpu"] = fmt::format("{}m", gpus * kMillicoresPerGpu);
  container["resources"]["requests"]["memory"] = fmt::format("{}Mi", gpus * kMebibytesPerGpu);
}

void reconcile_defaults(Json& spec, const Json& pod_template) {
  Json* trainer = find_trainer(spec);
  const Json* stated = find_stated_trainer(pod_template);
  if (trainer == nullptr) return;
  drop_unused_shared_memory(spec, *trainer);
  allow_stated_root(spec, pod_template, stated);
  give_volumes_to_group(spec);
  if (stated == nullptr) return;
  drop_requests_below_stated_limits(*trainer, *stated);
  allow_stated_privileges(*trainer, *stated);
}

}  // namespace sailor
