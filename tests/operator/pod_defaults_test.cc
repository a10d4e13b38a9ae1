// What trainer pods get so that they work on GKE and where Pod Security `restricted` is enforced, and how a template
// changes it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/model/names.h"
#include "operator/render/pod.h"

namespace sailor {
namespace {

using kube::Json;
using ::testing::Contains;
using ::testing::SizeIs;

const PoolKey kPodPool{Zone("us-central1-a"), Accelerator("nvidia-l4"), Provisioning::kSpot};

Json rendered(const char* pod_template = "{}", int gpus = 2) {
  JobView job;
  job.key = {"default", "opt"};
  job.uid = "job-uid";
  job.pod_template = Json::parse(pod_template);
  return render_pod(job, {slot_name("opt", kPodPool, 0), kPodPool, "node-1", "node-uid", gpus}, 1, {"trainer:1", ""},
                    {});
}

Json spec_of(const char* pod_template = "{}") { return rendered(pod_template)["spec"]; }

Json trainer_of(const char* pod_template = "{}") { return spec_of(pod_template)["containers"][0]; }

Json value_at(const Json& object, const char* pointer) {
  const Json::json_pointer path(pointer);
  return object.contains(path) ? object.at(path) : Json();
}

TEST(PodDefaults, MeetTheLevelRestricted) {
  const Json spec = spec_of();
  EXPECT_EQ(value_at(spec, "/securityContext/runAsNonRoot"), true);
  EXPECT_EQ(value_at(spec, "/securityContext/seccompProfile/type"), "RuntimeDefault");
  EXPECT_EQ(value_at(spec, "/containers/0/securityContext/allowPrivilegeEscalation"), false);
  EXPECT_EQ(value_at(spec, "/containers/0/securityContext/capabilities/drop"), Json::array({"ALL"}));
}

TEST(PodDefaults, GiveSharedMemoryOfItsOwnAndTheDriversPath) {
  const Json spec = spec_of();
  EXPECT_EQ(value_at(spec, "/volumes/0/emptyDir/medium"), "Memory");
  EXPECT_EQ(value_at(spec, "/containers/0/volumeMounts/0/mountPath"), "/dev/shm");
  EXPECT_EQ(value_at(spec, "/containers/0/volumeMounts/0/name"), value_at(spec, "/volumes/0/name"));
  const Json driver = {{"name", "LD_LIBRARY_PATH"}, {"value", "/usr/local/nvidia/lib64"}};
  EXPECT_THAT(trainer_of()["env"].get<std::vector<Json>>(), Contains(driver));
}

TEST(PodDefaults, RequestCpuAndMemoryForEachGpu) {
  const Json requests = rendered("{}", 4).at("/spec/containers/0/resources/requests"_json_pointer);
  EXPECT_EQ(requests["cpu"], "2000m");
  EXPECT_EQ(requests["memory"], "4096Mi");
  EXPECT_EQ(requests["nvidia.com/gpu"], "4");
}

TEST(PodDefaults, RequestsGiveWayToTheLimitsOfATemplate) {
  const Json resources = trainer_of(R"({"spec": {"containers": [
      {"name": "trainer", "resources": {"limits": {"cpu": "1", "memory": "8Gi"}, "requests": {"memory": "6Gi"}}}]}})")
                             .at("resources");
  EXPECT_EQ(value_at(resources, "/requests/cpu"), Json()) << "Kubernetes takes the limit";
  EXPECT_EQ(value_at(resources, "/requests/memory"), "6Gi");
  EXPECT_EQ(value_at(resources, "/limits/cpu"), "1");
}

TEST(PodDefaults, TemplateMayAskForRoot) {
  const Json spec = spec_of(R"({"spec": {"containers": [{"name": "trainer", "securityContext": {"runAsUser": 0}}]}})");
  EXPECT_EQ(value_at(spec, "/securityContext/runAsNonRoot"), Json());
  EXPECT_EQ(value_at(spec, "/containers/0/securityContext/runAsUser"), 0);
  const Json strict = spec_of(R"({"spec": {"securityContext": {"runAsUser": 0, "runAsNonRoot": true}}})");
  EXPECT_EQ(value_at(strict, "/securityContext/runAsNonRoot"), true) << "the template states it";
}

TEST(PodDefaults, TemplateMayAskForPrivileges) {
  const Json trainer =
      trainer_of(R"({"spec": {"containers": [{"name": "trainer", "securityContext": {"privileged": true}}]}})");
  EXPECT_EQ(value_at(trainer, "/securityContext/allowPrivilegeEscalation"), Json())
      << "the API server refuses a privileged container with this rule";
}

TEST(PodDefaults, TemplateMayMountItsOwnSharedMemory) {
  const Json spec =
      spec_of(R"({"spec": {"volumes": [{"name": "mine", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}}],
      "containers": [{"name": "trainer", "volumeMounts": [{"name": "mine", "mountPath": "/dev/shm"}]}]}})");
  EXPECT_THAT(spec["volumes"], SizeIs(2)) << "its own, and the credentials";
  EXPECT_EQ(value_at(spec, "/volumes/1/name"), "mine");
  EXPECT_EQ(value_at(spec, "/containers/0/volumeMounts/0/name"), "mine");
}

TEST(PodDefaults, VolumeClaimsBelongToTheGroupOfTheImage) {
  const char* claim = R"({"spec": {"volumes": [{"name": "c", "persistentVolumeClaim": {"claimName": "c"}}]}})";
  EXPECT_EQ(value_at(spec_of(claim), "/securityContext/fsGroup"), 65532);
  EXPECT_EQ(value_at(spec_of(claim), "/securityContext/fsGroupChangePolicy"), "OnRootMismatch");
  EXPECT_EQ(value_at(spec_of(), "/securityContext/fsGroup"), Json()) << "no volume needs it";
  const Json own = spec_of(R"({"spec": {"securityContext": {"fsGroup": 1000},
      "volumes": [{"name": "c", "persistentVolumeClaim": {"claimName": "c"}}]}})");
  EXPECT_EQ(value_at(own, "/securityContext/fsGroup"), 1000);
}

TEST(PodDefaults, PinKeepsTheAffinityOfTheTemplate) {
  const Json spec = spec_of(R"({"spec": {"affinity": {
      "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []},
      "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "team", "operator": "In", "values": ["a"]}]},
        {"matchExpressions": [{"key": "team", "operator": "In", "values": ["b"]}]}]}}}}})");
  EXPECT_TRUE(value_at(spec, "/affinity/podAntiAffinity").is_object());
  const Json terms =
      value_at(spec, "/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms");
  ASSERT_THAT(terms, SizeIs(2));
  for (const Json& term : terms) {
    EXPECT_EQ(value_at(term, "/matchExpressions/0/key"), "team");
    EXPECT_EQ(value_at(term, "/matchFields/0/values/0"), "node-1") << "the terms are alternatives";
  }
}

}  // namespace
}  // namespace sailor
