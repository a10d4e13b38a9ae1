#include "trainer/elastic/protocol/command.h"

#include <algorithm>

namespace sailor::trainer {

WorkerName name_of(const Assignment& assignment, const WorkerSlot& slot) {
  return {assignment.agents.at(static_cast<std::size_t>(slot.agent)).name, slot.gpu};
}

std::optional<int> rank_of(const Assignment& assignment, const WorkerName& worker) {
  for (int rank = 0; rank < std::ssize(assignment.workers); ++rank) {
    const WorkerSlot& slot = assignment.workers[static_cast<std::size_t>(rank)];
    if (slot.gpu == worker.gpu && name_of(assignment, slot).agent == worker.agent) return rank;
  }
  return std::nullopt;
}

bool drops_a_peer(const Assignment& next, const Assignment& running) {
  return std::ranges::any_of(
      running.workers, [&](const WorkerSlot& slot) { return slot.role && !rank_of(next, name_of(running, slot)); });
}

Command command_of(const Assignment& assignment, const WorkerName& worker, const Assignment& running) {
  const auto rank = rank_of(assignment, worker);
  return {.generation = assignment.generation,
          .has_slot = rank.has_value(),
          .has_role = rank && assignment.workers[static_cast<std::size_t>(*rank)].role,
          .drops_a_peer = drops_a_peer(assignment, running)};
}

}  // namespace sailor::trainer
