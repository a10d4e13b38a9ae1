// Situations with slow GPUs on nodes of eight A100, and the models of 32, 70 and 110 billion parameters whose training
// they slow down.
#pragma once

#include <string>
#include <vector>

#include "core/model/slow_nodes.h"
#include "tests/support/builders.h"

namespace sailor::testing {

struct SlowSituation {
  std::string name;
  int gpus = 0;
  std::vector<std::vector<double>> nodes;  // the slowdowns of the slow GPUs of each node

  // The time of a step over that without slow GPUs, if the work could be divided at will: among all GPUs, or among
  // those that are not slow.
  [[nodiscard]] double optimum() const {
    double left = gpus;
    for (const auto& node : nodes) {
      for (const double slowdown : node) left -= 1 - 1 / slowdown;
    }
    return gpus / left;
  }
  [[nodiscard]] double without_slow_gpus() const {
    int left = gpus;
    for (const auto& node : nodes) left -= static_cast<int>(node.size());
    return static_cast<double>(gpus) / left;
  }
};

inline const std::vector<SlowSituation>& slow_situations() {
  const std::vector<double> whole_node(8, 2.57);
  static const std::vector<SlowSituation> situations = {
      {"A", 64, {{2.57}}},
      {"B", 64, {{12.53}}},
      {"C", 64, {{12.53}, {12.53}, {2.57}}},
      {"D", 32, {{4.79}, {2.34}, {3.8}}},
      {"E", 64, {whole_node}},
      {"F", 64, {whole_node, {3.8}}},
  };
  return situations;
}

inline SlowNode a_slow_node(const PoolKey& pool, const std::vector<double>& slowdowns) {
  SlowNode node{.pool = pool, .grades = {}};
  for (const double slowdown : slowdowns) node.grades.push_back(grade_of(slowdown));
  return node;
}

inline ClusterState healthy_gpus(int count) {
  return a_cluster().pool("us-central1-a", "nvidia-a100-80gb", count / 8, 8).whole_nodes();
}

inline ClusterState slowed_gpus(const SlowSituation& situation) {
  std::vector<SlowNode> nodes;
  for (const auto& slowdowns : situation.nodes) {
    nodes.push_back(a_slow_node(a_key("us-central1-a", "nvidia-a100-80gb"), slowdowns));
  }
  return with_slow_nodes(healthy_gpus(situation.gpus), nodes).value();
}

struct LargeShape {
  std::string name;
  int blocks = 0;
  int hidden = 0;
  int heads = 0;
  int kv_heads = 0;
  int ffn = 0;
};

inline const std::vector<LargeShape>& large_shapes() {
  static const std::vector<LargeShape> shapes = {
      {"32B", 60, 6656, 52, 52, 17920}, {"70B", 80, 8192, 64, 8, 28672}, {"110B", 80, 10240, 80, 8, 36864}};
  return shapes;
}

// 64 sequences of 4,096 tokens in microbatches of one or two.
inline JobSpec a_large_job(const LargeShape& shape) {
  JobSpec job = a_job().model("llama-2-7b").sequence_length(4096).batch(64).microbatch_sizes({1, 2});
  job.training.precision = Precision::kBf16;
  job.model.name = shape.name;
  job.model.blocks = shape.blocks;
  job.model.hidden_size = shape.hidden;
  job.model.heads = shape.heads;
  job.model.kv_heads = shape.kv_heads;
  job.model.ffn_size = shape.ffn;
  return job;
}

}  // namespace sailor::testing
