#include "operator/model/record_check.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "core/model/size_limits.h"
#include "core/protocol/limits.h"

namespace sailor {
namespace {

bool is_between(auto value, auto least, auto most) { return least <= value && value <= most; }

template <class... Parts>
Result<void> damaged(fmt::format_string<Parts...> text, Parts&&... parts) {
  return fail(ErrorCode::kInvalidArgument, fmt::format(text, std::forward<Parts>(parts)...));
}

Result<void> check_members(const std::vector<Member>& members) {
  if (members.size() > kMostPodsOfAJob)
    return damaged("{} members; at most {} are possible", members.size(), kMostPodsOfAJob);
  for (const Member& member : members) {
    const AgentAddress& address = member.address;
    if (!is_between(address.gpus, 0, kMostGpusOfANode))
      return damaged("member {} with {} GPUs", address.name, address.gpus);
    if (!is_between(address.port, 0, 65535) || !is_between(address.store_port, 0, 65535))
      return damaged("member {} with ports {} and {}", address.name, address.port, address.store_port);
  }
  return {};
}

Result<void> check_replica(const Generation& generation, const ReplicaPlacement& placed) {
  const auto& stages = generation.plan.stages;
  const auto& slots = generation.placement.slots;
  const bool has_stage = is_between(placed.stage, 0, static_cast<int>(std::ssize(stages)) - 1);
  if (!has_stage) return damaged("a replica of stage {}, which the plan does not have", placed.stage);
  const auto& replicas = stages[static_cast<std::size_t>(placed.stage)].replicas;
  if (!is_between(placed.replica, 0, static_cast<int>(std::ssize(replicas)) - 1))
    return damaged("replica {} of stage {}, which the plan does not have", placed.replica, placed.stage);
  if (!is_between(placed.slot, 0, static_cast<int>(std::ssize(slots)) - 1))
    return damaged("a replica in slot {}, which does not exist", placed.slot);
  const int gpus = slots[static_cast<std::size_t>(placed.slot)].gpus;
  const int needed = replicas[static_cast<std::size_t>(placed.replica)].tensor_parallel;
  if (!is_between(placed.first_gpu, 0, gpus - needed))
    return damaged("a replica on {} GPUs from GPU {} of {}", needed, placed.first_gpu, gpus);
  return {};
}

bool orders_all_gpus(const Slot& slot) {
  if (slot.gpu_order.empty()) return true;
  std::vector<int> all(static_cast<std::size_t>(slot.gpus));
  std::iota(all.begin(), all.end(), 0);
  return std::ranges::is_permutation(slot.gpu_order, all);
}

Result<void> check_placement(const Generation& generation) {
  const auto& slots = generation.placement.slots;
  if (slots.size() > kMostPodsOfAJob)
    return damaged("{} slots; at most {} are possible", slots.size(), kMostPodsOfAJob);
  for (const Slot& slot : slots) {
    if (!is_between(slot.gpus, 1, kMostGpusOfANode)) return damaged("slot {} with {} GPUs", slot.pod, slot.gpus);
    if (!orders_all_gpus(slot))
      return damaged("slot {} with a gpuOrder that is not one of its {} GPUs", slot.pod, slot.gpus);
  }
  for (const ReplicaPlacement& placed : generation.placement.replicas) {
    if (auto checked = check_replica(generation, placed); !checked) return checked;
  }
  return {};
}

Result<void> check_generation(const Generation& generation) {
  if (!is_between(generation.generation, 0, kLargestGeneration)) return damaged("generation {}", generation.generation);
  if (auto checked = check_placement(generation); !checked) return checked;
  if (auto checked = check_members(generation.members); !checked) return checked;
  if (!generation.is_committed()) return {};
  if (generation.members.size() < generation.placement.slots.size())
    return damaged("{} members for {} slots", generation.members.size(), generation.placement.slots.size());
  if (!is_between(generation.rendezvous, 0, static_cast<int>(std::ssize(generation.members)) - 1))
    return damaged("a rendezvous at member {}, which does not exist", generation.rendezvous);
  return {};
}

Result<void> check_older(const OlderRecord& older) {
  if (!is_between(older.generation, 0, kLargestGeneration)) return damaged("older generation {}", older.generation);
  if (older.members.empty()) return damaged("older generation {} without members", older.generation);
  return check_members(older.members);
}

Result<void> check_slow_gpu(const SlowGpu& slow) {
  if (!is_between(slow.gpu, 0, kMostGpusOfANode - 1)) return damaged("slow GPU {} of a node", slow.gpu);
  if (!std::isfinite(slow.slowdown) || slow.slowdown < 1) return damaged("a GPU with slowdown {}", slow.slowdown);
  if (slow.distrust < std::chrono::seconds(0)) return damaged("a GPU with a distrust of {} s", slow.distrust.count());
  if (!std::isfinite(slow.usual_probe_seconds) || slow.usual_probe_seconds < 0)
    return damaged("a GPU with probes of {} s", slow.usual_probe_seconds);
  return {};
}

Result<void> check_all(const GenerationRecord& record) {
  if (auto checked = check_generation(record); !checked) return checked;
  if (record.running) {
    if (auto checked = check_generation(*record.running); !checked) return checked;
  }
  for (const OlderRecord& older : record.older) {
    if (auto checked = check_older(older); !checked) return checked;
  }
  for (const PoolRefusal& refusal : record.pool_refusals) {
    if (!is_between(refusal.until - refusal.since, std::chrono::seconds(0), kLongestPauseOfPool))
      return damaged("a refusal by pool {} for {} s", to_string(refusal.pool), refusal.pause().count());
  }
  for (const SlowGpu& slow : record.slow_gpus) {
    if (auto checked = check_slow_gpu(slow); !checked) return checked;
  }
  const Forgone& forgone = record.forgone;
  if (!is_between(forgone.share, 0, 1) || !(forgone.before_since >= Seconds(0)))
    return damaged("{} s forgone, and {} of the time", forgone.before_since.value(), forgone.share);
  if (!is_between(record.last_issued, 0, kLargestGeneration)) return damaged("lastIssued {}", record.last_issued);
  if (record.restarts < 0) return damaged("restarts {}", record.restarts);
  return {};
}

}  // namespace

Result<void> check_record(const GenerationRecord& record) {
  auto checked = check_all(record);
  if (!checked) return tl::unexpected(std::move(checked).error().within("the record is damaged"));
  return checked;
}

}  // namespace sailor
