// What is read from the labels and taints of nodes of several clouds.
#include "operator/model/node_labels.h"

#include <gtest/gtest.h>

#include "operator/model/cluster_view.h"
#include "operator/model/names.h"

namespace sailor {
namespace {

using kube::Json;

Json node(const Labels& labels, const std::string& provider_id = "") {
  return {{"metadata", {{"name", "n"}, {"uid", "u"}, {"labels", labels}}},
          {"spec", {{"providerID", provider_id}}},
          {"status", {{"allocatable", {{kGpuResource, "8"}}}}}};
}

std::string pool(const Labels& labels) { return to_string(pool_of_node(node(labels))); }

TEST(NodeLabels, OfGoogleCloud) {
  EXPECT_EQ(pool({{kZoneLabel, "us-central1-a"}, {"cloud.google.com/gke-accelerator", "nvidia-l4"}}),
            "us-central1-a/nvidia-l4/ondemand");
  for (const char* label : {"cloud.google.com/gke-spot", "cloud.google.com/gke-preemptible"}) {
    EXPECT_EQ(pool({{kZoneLabel, "z"}, {"cloud.google.com/gke-accelerator", "nvidia-l4"}, {label, "true"}}),
              "z/nvidia-l4/spot");
  }
}

TEST(NodeLabels, OfAmazon) {
  EXPECT_EQ(pool({{kZoneLabel, "us-east-1a"},
                  {"karpenter.k8s.aws/instance-gpu-name", "h100"},
                  {"karpenter.sh/capacity-type", "spot"}}),
            "us-east-1a/nvidia-h100-80gb/spot");
  EXPECT_EQ(pool({{kZoneLabel, "us-east-1a"},
                  {"nvidia.com/gpu.product", "Tesla-T4"},
                  {"eks.amazonaws.com/capacityType", "SPOT"}}),
            "us-east-1a/nvidia-tesla-t4/spot");
  EXPECT_EQ(pool({{kZoneLabel, "us-east-1a"},
                  {"eks.amazonaws.com/instance-gpu-name", "l4"},
                  {"eks.amazonaws.com/capacityType", "ON_DEMAND"}}),
            "us-east-1a/nvidia-l4/ondemand");
}

TEST(NodeLabels, TheMemoryTellsWhichA100AmazonMeans) {
  const auto a100_with = [](const char* mebibytes) {
    return pool({{kZoneLabel, "z"},
                 {"karpenter.k8s.aws/instance-gpu-name", "a100"},
                 {"karpenter.k8s.aws/instance-gpu-memory", mebibytes}});
  };
  EXPECT_EQ(a100_with("40960"), "z/nvidia-tesla-a100/ondemand");
  EXPECT_EQ(a100_with("81920"), "z/nvidia-a100-80gb/ondemand");
}

TEST(NodeLabels, OfAzure) {
  EXPECT_EQ(pool({{kZoneLabel, "westeurope-1"},
                  {"nvidia.com/gpu.product", "NVIDIA-A100-80GB-PCIe"},
                  {"kubernetes.azure.com/scalesetpriority", "spot"}}),
            "westeurope-1/nvidia-a100-80gb/spot");
}

TEST(NodeLabels, NodesOutsideOfCloudsAreInOneZone) {
  const Json own = node({{"nvidia.com/gpu.product", "NVIDIA-H200"}});
  EXPECT_EQ(to_string(pool_of_node(own)), "default/nvidia-h200-141gb/ondemand");
  EXPECT_EQ(region_of_node(own), Region("default"));
}

TEST(NodeLabels, ANewNodeOfACloudHasNoZoneBeforeTheCloudHasLabelledIt) {
  Json fresh = node({{"nvidia.com/gpu.product", "NVIDIA-L4"}});
  fresh["spec"]["taints"] = Json::array({{{"key", "node.cloudprovider.kubernetes.io/uninitialized"}}});
  EXPECT_TRUE(pool_of_node(fresh).zone.empty());
}

TEST(NodeLabels, TheOwnersNameOfTheGpusCountsFirst) {
  EXPECT_EQ(pool({{kZoneLabel, "z"}, {"sailor.dev/accelerator", "own-gpu"}, {"nvidia.com/gpu.product", "NVIDIA-L4"}}),
            "z/own-gpu/ondemand");
}

TEST(NodeLabels, UnknownGpusGetANameThatAGpuPoolCanHave) {
  EXPECT_EQ(pool({{kZoneLabel, "z"}, {"nvidia.com/gpu.product", "NVIDIA_L40S"}}), "z/nvidia-l40s/ondemand");
}

TEST(NodeLabels, ATaintAnnouncesTheEndOfANode) {
  for (const char* key :
       {"cloud.google.com/impending-node-termination", "aws-node-termination-handler/spot-itn",
        "karpenter.sh/disrupted", "remediator.kubernetes.azure.com/unschedulable", "ToBeDeletedByClusterAutoscaler"}) {
    EXPECT_TRUE(announces_termination(key)) << key;
  }
  EXPECT_FALSE(announces_termination("node.kubernetes.io/unschedulable")) << "somebody has cordoned the node";
  EXPECT_FALSE(announces_termination("aws-node-termination-handler/rebalance-recommendation")) << "it may live on";
}

TEST(NodeLabels, NewNodesOutsideOfGkeAreFoundByTheirZoneAndTheSelectorOfTheirPool) {
  const PoolKey key{Zone("us-east-1a"), Accelerator("nvidia-l4"), Provisioning::kSpot};
  ClusterView view;
  view.is_on_gke = false;
  view.pools[key].node_selector = {{"karpenter.sh/nodepool", "gpu"}};
  EXPECT_EQ(view.labels_of_new_node(key), (Labels{{kZoneLabel, "us-east-1a"}, {"karpenter.sh/nodepool", "gpu"}}));
  EXPECT_EQ(labels_of_new_node({Zone("default"), key.accelerator, key.provisioning}, false), Labels{});
}

TEST(NodeLabels, GooglesPricesAreNotThoseOfOtherClouds) {
  const Labels labels = {{kZoneLabel, "us-east-1a"}, {"nvidia.com/gpu.product", "NVIDIA-L4"}};
  const auto view_with = [&](const char* provider_id) {
    ClusterObjects objects;
    objects.nodes = {std::make_shared<const Json>(node(labels, provider_id))};
    return cluster_view(objects);
  };
  EXPECT_EQ(view_with("gce://project/us-east-1a/n").nodes.size(), 1U);
  const ClusterView amazon = view_with("aws:///us-east-1a/i-0");
  EXPECT_TRUE(amazon.nodes.empty());
  EXPECT_EQ(amazon.unpriced.size(), 1U);
  EXPECT_FALSE(amazon.is_on_gke);
}

}  // namespace
}  // namespace sailor
