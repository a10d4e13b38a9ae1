// What may happen to newcomers that follow the training of an older generation, and to those who train in it. Handing
// out is not told apart: a follower has, in the end, any part of what it was to be sent.
#include <algorithm>

#include "tests/trainer/elastic/protocol/explorer.h"

namespace sailor::trainer::exploration {
// Whoever holds nothing yet, as long as somebody may still train who will feed it.
bool Explorer::may_follow(const World& world, int id) {
  const Worker& newcomer = world.workers[static_cast<std::size_t>(id)];
  const Meeting& next = world.meetings[newcomer.generation];
  const bool lacks_state = newcomer.place == Place::kMeeting && newcomer.updated_by == 0;
  if (!lacks_state || next.roles[static_cast<std::size_t>(id)] == 0) return false;
  return std::ranges::any_of(world.workers, [&](const Worker& feeder) {
    const bool comes = feeder.generation < newcomer.generation && feeder.next <= newcomer.generation;
    return comes && feeder.has_role != 0 && feeder.place != Place::kBroken &&
           has_followers(next, world.meetings[feeder.generation]);
  });
}

// Or it does not: then, as if it gave up later, it says at once that it holds nothing.
void Explorer::follow(World world, int id) {
  Worker& newcomer = worker_of(world, id);
  newcomer.follows = 1;
  keep(world, {What::kFollows, id, newcomer.generation});
}

// Its connections have ended; of what its feeders sent with a last step it may have come any part.
void Explorer::end_following(int id) {
  const Meeting& group = meeting(at(id).generation);
  const auto index = static_cast<std::size_t>(id);
  for (Mask part = 1; part <= group.fed[index]; ++part) {
    if ((part & ~group.fed[index]) != 0) continue;
    const Mask held = rules_.following.is_whole_with_a_part ? group.roles[index] : part;
    if (held != part) complain("a follower holds what it was not sent");
    check_all_can_follow_to(group.fed_step, group.fed_by);
    World world = from_;
    worker_of(world, id).units = held;
    step(world, {What::kFollowed, id, at(id).generation},
         event::Followed{.step = group.fed_step, .generation = group.fed_by});
  }
}

// Who was sent nothing, and will not be, says so at once: others may be as late as can be anyway.
void Explorer::end_vain_following(World& world) {
  for (int id = 0; id < kWorkers; ++id) {
    Worker& follower = worker_of(world, id);
    if (follower.follows == 0 || world.meetings[follower.generation].fed[static_cast<std::size_t>(id)] != 0) continue;
    if (may_follow(world, id)) continue;
    follower.follows = 0;
    say_holding(world, id);
  }
}

// To those of the next generation that follow. What they were sent before is of an older step.
void Explorer::feed(World& world, int id, int step, bool is_last) {
  const Worker& feeder = at(id);
  const bool counts = is_last || rules_.following.keeps_any_step;
  if (!counts || feeder.next_is_prepared == 0) return;
  Meeting& next = world.meetings[feeder.next];
  if (!has_followers(next, meeting(feeder.generation))) return;
  if (next.fed_step != step || next.fed_by != feeder.generation) next.fed = {};
  for (const UnitMove& move : agreements_.feeding(next, meeting(feeder.generation))) {
    const Worker& follower = worker_of(world, move.to);
    if (move.from != id || follower.follows == 0 || follower.generation != feeder.next) continue;
    put(next.fed[static_cast<std::size_t>(move.to)], move.unit);
    next.fed_step = static_cast<std::uint8_t>(step);
    next.fed_by = feeder.generation;
  }
}

// With complete gradients a worker gives its vote, and says in it whether it waits for followers.
void Explorer::compute(int id) {
  const int generation = at(id).generation;
  if (may_wait(id)) {
    World world = from_;
    world.meetings[at(id).generation].waiting = static_cast<std::uint8_t>(at(id).step + 1);
    step(world, {What::kComputesAndWaits, id, generation}, event::Computed{});
  }
  if (may_stop_waiting(id)) step(from_, {What::kComputes, id, generation}, event::Computed{});
}

bool Explorer::may_wait(int id) const {
  const Worker& worker = at(id);
  return limits_.newcomers_follow && worker.next > 0 && has_followers(meeting(worker.next), meeting(worker.generation));
}

// Once all are connected, or cannot be, and the followers have caught up, or are given up, or the limit has passed.
bool Explorer::may_stop_waiting(int id) const {
  const Worker& worker = at(id);
  if (!may_wait(id)) return true;
  if (worker.next_is_prepared == 0) return false;
  if (!rules_.following.is_waited_for_without_end) return true;
  for (std::size_t other = 0; other < kWorkers; ++other) {
    const bool comes = meeting(worker.next).roles[other] != 0 && meeting(worker.generation).roles[other] == 0;
    const bool can_catch_up = from_.workers[other].generation == worker.next && from_.workers[other].follows != 0;
    if (comes && !can_catch_up) return false;
  }
  return true;
}

// Where nothing more can happen, nobody waits for followers.
void Explorer::check_no_change_is_put_off() {
  for (int id = 0; id < kWorkers; ++id) {
    const bool trains = !has(from_.crashed, id) && is_training(at(id).place);
    if (trains && !may_stop_waiting(id)) complain("a change is put off for ever");
  }
}

}  // namespace sailor::trainer::exploration
