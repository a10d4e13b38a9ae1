#include "tests/operator/fake_kueue.h"

#include <algorithm>
#include <ranges>

#include "operator/model/names.h"

namespace sailor::testing {
namespace {

constexpr const char* kWorkloads = "/apis/kueue.x-k8s.io/v1beta1/namespaces/default/workloads";

void set_condition(Json& object, const char* type, bool status, const std::string& reason, const std::string& message,
                   Time now) {
  Json& conditions = object["status"]["conditions"];
  if (!conditions.is_array()) conditions = Json::array();
  std::erase_if(conditions.get_ref<Json::array_t&>(), [&](const Json& held) { return held["type"] == type; });
  conditions.push_back({{"type", type},
                        {"status", status ? "True" : "False"},
                        {"reason", reason},
                        {"message", message},
                        {"lastTransitionTime", to_rfc3339(now)}});
}

bool accepts(const Json& workload, const Labels& flavor) {
  const Json& terms =
      kube::list_at(workload, {"spec", "podSets"})
          .at(0)
          .value(
              Json::json_pointer("/template/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/"
                                 "nodeSelectorTerms"),
              Json::array());
  return terms.empty() || std::ranges::any_of(terms, [&](const Json& term) {
           return std::ranges::all_of(term.at("matchExpressions"), [&](const Json& expression) {
             const auto label = flavor.find(expression.at("key").get<std::string>());
             return label != flavor.end() && label->second == expression.at("values").at(0).get<std::string>();
           });
         });
}

}  // namespace

FakeKueue::FakeKueue(World& world) : world_(world) {
  world.settings.kueue_version = "v1beta1";
  world.restart_operator();
}

void FakeKueue::add_flavor(const std::string& name, int quota, const Json& labels) {
  quotas_[name] = quota;
  world_.api_server.put("/apis/kueue.x-k8s.io/v1beta1/resourceflavors",
                        {{"metadata", {{"name", name}}}, {"spec", {{"nodeLabels", labels}}}});
}

void FakeKueue::add_priority(const std::string& name, int value) {
  world_.api_server.put("/apis/kueue.x-k8s.io/v1beta1/workloadpriorityclasses",
                        {{"metadata", {{"name", name}}}, {"value", value}});
}

std::vector<Workload> FakeKueue::workloads() const {
  std::vector<Workload> found;
  for (Json& object : world_.api_server.all("workloads")) {
    Workload workload = workload_of(std::make_shared<const Json>(std::move(object)));
    if (!workload.is_finished) found.push_back(std::move(workload));
  }
  std::ranges::stable_sort(found, {}, [](const Workload& workload) { return workload.name; });
  return found;
}

int FakeKueue::used(const std::string& flavor) const {
  int gpus = 0;
  for (const Workload& workload : workloads()) {
    if (workload.flavor == flavor) gpus += workload.reserved_gpus();
  }
  return gpus;
}

std::string FakeKueue::condition(const std::string& workload, const std::string& type) const {
  const Json object = world_.api_server.find("workloads", workload);
  const Json* condition = kube::find_condition(object, type);
  return condition == nullptr ? ""
                              : kube::text_at(*condition, {"status"}) + " " + kube::text_at(*condition, {"reason"});
}

void FakeKueue::write(Json object) { world_.api_server.put(kWorkloads, std::move(object)); }

void FakeKueue::reserve(const Workload& workload, const std::string& flavor, int gpus) {
  Json object = *workload.object;
  object["status"]["admission"] = {
      {"clusterQueue", "cluster-queue"},
      {"podSetAssignments", Json::array({{{"name", "gpus"}, {"count", gpus}, {"flavors", {{kGpuResource, flavor}}}}})}};
  set_condition(object, "QuotaReserved", true, "QuotaReserved", "Quota reserved", world_.now);
  set_condition(object, "Admitted", true, "Admitted", "The workload is admitted", world_.now);
  if (workload.is_evicted) set_condition(object, "Evicted", false, "QuotaReserved", "Previously: evicted", world_.now);
  write(std::move(object));
}

void FakeKueue::admit() {
  std::vector<Workload> waiting = workloads();
  std::erase_if(waiting, [](const Workload& workload) { return !workload.is_pending() || !workload.is_active; });
  std::ranges::stable_sort(waiting, std::greater(), [](const Workload& workload) {
    return kube::integer_at(*workload.object, {"spec", "priority"});
  });
  for (const Workload& workload : waiting) {
    for (const auto& [flavor, quota] : quotas_) {
      const Json object = world_.api_server.find("resourceflavors", flavor);
      const int gpus = std::min(workload.asked_gpus, quota - used(flavor));
      if (gpus < workload.least_gpus || !accepts(*workload.object, flavor_of(object).labels)) continue;
      reserve(workload, flavor, gpus);
      break;
    }
    const Workload after =
        workload_of(std::make_shared<const Json>(world_.api_server.find("workloads", workload.name)));
    if (after.has_reservation) continue;
    Json object = *workload.object;
    set_condition(object, "QuotaReserved", false, "Pending", "insufficient unused quota", world_.now);
    if (object != *workload.object) write(std::move(object));
  }
}

void FakeKueue::evict(const std::string& workload, const std::string& reason) {
  Json object = world_.api_server.find("workloads", workload);
  set_condition(object, "Evicted", true, reason, "Preempted to accommodate another workload", world_.now);
  write(std::move(object));
}

void FakeKueue::evict_beyond_quota() {
  for (const auto& [flavor, quota] : quotas_) {
    int left = 0;
    for (const Workload& workload : workloads()) {
      if (!workload.has_reservation || workload.flavor != flavor) continue;
      left += workload.reserved_gpus();
      if (left <= quota) continue;
      left -= workload.reserved_gpus();
      if (!workload.is_evicted) evict(workload.name);
    }
  }
}

}  // namespace sailor::testing
