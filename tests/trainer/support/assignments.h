// Builders of assignments for the trainer's tests: a tiny job, and plans written as lists of shares.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/protocol/assignment.h"

namespace sailor::trainer::testing {

// A stage's layers, the microbatches of each of its replicas, and their tensor-parallel sizes where not all are 1: {0,
// 3, {5, 3}}.
struct StageShares {
  int first_layer;
  int last_layer;
  std::vector<int> microbatches;
  std::vector<int> tensor_parallel_sizes = {};
};

ModelSpec tiny_model(ModelFamily family = ModelFamily::kGpt2, bool tied_embeddings = true);  // 3 blocks: layers 0 to 5

// A job of 8 microbatches of 2 short sequences a step, without checkpoints.
Assignment tiny_job(const std::filesystem::path& data);

// The plan has peer replicas if job.plan does.
Plan plan_of(const Assignment& job, const std::vector<StageShares>& stages);

// This generation of the job with this plan: agent i has `gpus` workers, roles in order; agents after the last one that
// is needed leave.
Assignment generation(Assignment job, std::int64_t number, const Plan& plan, std::vector<AgentAddress> agents);

// A folder of this test's own, and in it files of text to learn from. Deleted with the object.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  [[nodiscard]] std::filesystem::path text() const { return folder_ / "text-*.txt"; }

 private:
  std::filesystem::path folder_;
};

// A loopback address that no other test process of this machine uses at the moment; another one at each call.
std::string own_address();

}  // namespace sailor::trainer::testing
