#include "tests/trainer/support/assignments.h"

#include <atomic>
#include <fstream>

#include <fmt/format.h>
#include <unistd.h>

namespace sailor::trainer::testing {
namespace {

PoolKey a_pool() { return {Zone("us-central1-a"), Accelerator("nvidia-l4"), Provisioning::kSpot}; }

}  // namespace

ModelSpec tiny_model(ModelFamily family, bool tied_embeddings) {
  const bool is_llama = family == ModelFamily::kLlama;
  ModelSpec spec = family_defaults(family);
  spec.name = "tiny";
  spec.blocks = 3;
  spec.hidden_size = 32;
  spec.heads = 4;
  spec.kv_heads = is_llama ? 2 : 4;
  spec.ffn_size = 64;
  spec.vocab_size = 256;
  spec.max_positions = is_llama ? 0 : 34;
  spec.tied_embeddings = tied_embeddings;
  spec.embedding_size = family == ModelFamily::kOpt ? 24 : 0;
  return spec;
}

Assignment tiny_job(const std::filesystem::path& data) {
  Assignment job;
  job.job = {"default", "tiny"};
  job.job_uid = "uid-1";
  job.model = tiny_model();
  job.training = {.global_batch_size = 16, .sequence_length = 24, .microbatch_sizes = {2}, .steps = 20, .seed = 7};
  job.training.optimizer.learning_rate = 3e-3;
  job.training.optimizer.clip_norm = 1.0;
  // AdamW divides a gradient by its own usual size, so with the usual 1e-8 a gradient that is nothing but rounding
  // moves its weight as far as any other, and how far two plans drift apart depends on the processor.
  job.training.optimizer.epsilon = 1e-5;
  job.data = {.format = DataFormat::kBytes, .path = data.string()};
  return job;
}

Plan plan_of(const Assignment& job, const std::vector<StageShares>& stages) {
  Plan plan{.model = job.model.name,
            .global_batch_size = job.training.global_batch_size,
            .microbatch_size = job.training.microbatch_sizes.front(),
            .stages = {},
            .sequence_parallelism = job.training.uses_sequence_parallelism(),
            .peer_replicas = job.plan.peer_replicas};
  for (const StageShares& shares : stages) {
    Stage stage{.first_layer = shares.first_layer, .last_layer = shares.last_layer, .replicas = {}};
    for (std::size_t i = 0; i < shares.microbatches.size(); ++i) {
      stage.replicas.push_back({a_pool(), shares.tensor_parallel_sizes.empty() ? 1 : shares.tensor_parallel_sizes.at(i),
                                shares.microbatches[i]});
    }
    plan.stages.push_back(std::move(stage));
  }
  return plan;
}

Assignment generation(Assignment job, std::int64_t number, const Plan& plan, std::vector<AgentAddress> agents) {
  job.generation = number;
  job.plan = plan;
  job.agents = std::move(agents);
  std::vector<WorkerSlot> free;
  for (int agent = 0; agent < std::ssize(job.agents); ++agent) {
    job.agents[static_cast<std::size_t>(agent)].pool = a_pool();
    for (int gpu = 0; gpu < job.agents[static_cast<std::size_t>(agent)].gpus; ++gpu) free.push_back({agent, gpu, {}});
  }
  std::size_t next = 0;
  for (int stage = 0; stage < std::ssize(plan.stages); ++stage) {
    const auto& replicas = plan.stages[static_cast<std::size_t>(stage)].replicas;
    for (int replica = 0; replica < std::ssize(replicas); ++replica) {
      const int tensor_parallel = replicas[static_cast<std::size_t>(replica)].tensor_parallel;
      for (int shard = 0; shard < tensor_parallel; ++shard) free.at(next++).role = Role{stage, replica, shard};
    }
  }
  job.workers = std::move(free);
  return job;
}

Scratch::Scratch() {
  std::string name = (std::filesystem::temp_directory_path() / "sailor-trainer-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no scratch folder " + name);
  folder_ = name;
  for (int file = 0; file < 2; ++file) {
    std::ofstream stream(folder_ / fmt::format("text-{}.txt", file));
    for (int line = 0; line < 200; ++line)
      stream << "the quick brown fox " << line * 7 % 100 << " jumps over the dog\n";
  }
}

Scratch::~Scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string own_address() {
  static std::atomic<int> next = 0;
  return fmt::format("127.{}.{}.{}", 84 + next++ % 100, getpid() / 250 % 250, getpid() % 250 + 1);
}

}  // namespace sailor::trainer::testing
