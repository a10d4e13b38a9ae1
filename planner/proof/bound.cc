#include "planner/proof/bound.h"

#include <algorithm>
#include <limits>
#include <map>

#include "planner/relaxation/gpu_prices.h"
#include "planner/relaxation/rounded_down.h"

namespace sailor {
namespace {

constexpr double kFirstStep = 0.5;
constexpr int kHalvings = 13;      // the last step is about 1e-4
constexpr int kRoundsPerStep = 8;  // how often each step is tried on all prices

struct GpuType {
  int pool = 0;  // one of its pools; the times of all are equal
  int gpus = 0;
  int largest_node = 0;
  DollarsPerHour price;             // the price of a GPU in the cheapest pool of the type
  std::vector<double> gpu_seconds;  // [layer]: GPU seconds for one sample, 1 / r_gl
};

std::vector<GpuType> gpu_types(const PlanningProblem& problem) {
  std::map<GpuClass, GpuType> types;
  for (int index = 0; index < problem.pools(); ++index) {
    const Pool& pool = problem.pool(index);
    GpuType& type = types[pool.key.gpu_class()];
    type.price = type.gpus == 0 ? pool.price_per_gpu : std::min(type.price, pool.price_per_gpu);
    type.pool = index;
    type.gpus += pool.free_gpus();
    type.largest_node = std::max(type.largest_node, pool.gpus_of_largest_node());
  }
  std::vector<GpuType> result;
  result.reserve(types.size());
  for (auto& [gpus, type] : types) result.push_back(std::move(type));
  return result;
}

// Returns the fewest GPU seconds in which GPUs of this type can process the layer for one sample.
double least_gpu_seconds(const PlanningProblem& problem, const GpuType& type, int layer) {
  const bool recomputes = problem.allowed_techniques().front().recomputes;  // the fastest choice that the job allows
  double least = std::numeric_limits<double>::infinity();
  for (const int size : problem.job.training.microbatch_sizes) {
    for (const int tensor_parallel : problem.tensor_parallel_sizes) {
      if (tensor_parallel > type.largest_node) continue;
      const StageNeeds needs = problem.estimator->stage_needs({.layers = {layer, layer + 1},
                                                               .pool = type.pool,
                                                               .point = {size, tensor_parallel},
                                                               .activation_checkpointing = recomputes});
      least = std::min(least, needs.pass().value() * tensor_parallel / size);
    }
  }
  return least;
}

// Returns a lower bound on the seconds that the GPUs of a plan need for one sample: what the layers cost at these
// prices, divided by what the GPUs can pay per second.
double seconds_of_sample(const std::vector<GpuType>& types, const std::vector<double>& prices, int most_gpus) {
  double sum = 0;
  for (std::size_t layer = 0; layer < types.front().gpu_seconds.size(); ++layer) {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t g = 0; g < types.size(); ++g) least = std::min(least, prices[g] * types[g].gpu_seconds[layer]);
    sum += least;
  }
  std::vector<int> gpus;
  gpus.reserve(types.size());
  for (const GpuType& type : types) gpus.push_back(type.gpus);
  return sum / worth_of_gpus(prices, gpus, most_gpus);
}

// Moves each price a step up or down where that improves the bound, and returns the best bound.
double climbed(const std::vector<GpuType>& types, std::vector<double>& prices, int most_gpus, double step,
               double best) {
  for (double& price : prices) {
    for (const double factor : {1 + step, 1 / (1 + step)}) {
      const double before = price;
      price *= factor;
      const double bound = seconds_of_sample(types, prices, most_gpus);
      if (bound <= best) price = before;
      best = std::max(best, bound);
    }
  }
  return best;
}

// Finds the best bound by coordinate ascent with shrinking steps. The function is concave, and every price vector gives
// a valid bound.
double best_bound(const std::vector<GpuType>& types, int most_gpus) {
  std::vector<double> prices;
  for (const GpuType& type : types) {
    double whole_model = 0;
    for (const double layer : type.gpu_seconds) whole_model += layer;
    prices.push_back(1 / whole_model);
  }
  double best = seconds_of_sample(types, prices, most_gpus);
  double step = kFirstStep;
  for (int halving = 0; halving < kHalvings; ++halving, step /= 2) {
    for (int round = 0; round < kRoundsPerStep; ++round) best = climbed(types, prices, most_gpus, step, best);
  }
  return best;
}

std::vector<GpuType> gpu_types_with_times(const PlanningProblem& problem) {
  std::vector<GpuType> types = gpu_types(problem);
  for (GpuType& type : types) {
    for (int layer = 0; layer < problem.layers(); ++layer)
      type.gpu_seconds.push_back(least_gpu_seconds(problem, type, layer));
  }
  return types;
}

}  // namespace

double bound_throughput(const PlanningProblem& problem) {
  const std::vector<GpuType> types = gpu_types_with_times(problem);
  return 1 / (best_bound(types, problem.most_gpus()) * problem.job.training.global_batch_size);
}

Dollars bound_cost(const PlanningProblem& problem) {
  const std::vector<GpuType> types = gpu_types_with_times(problem);
  Dollars sum(0);
  for (int layer = 0; layer < problem.layers(); ++layer) {
    Dollars least(std::numeric_limits<double>::infinity());
    for (const GpuType& type : types) {
      least = std::min(least, type.price * Seconds(type.gpu_seconds[static_cast<std::size_t>(layer)]));
    }
    sum += least;
  }
  return sum * (problem.job.training.global_batch_size * (1 - kRoundingSlack));
}

}  // namespace sailor
