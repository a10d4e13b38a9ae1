#include "trainer/comm/interrupt.h"

#include <utility>

#include "trainer/comm/communication_error.h"

namespace sailor::trainer {

void Interrupt::raise() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(is_raised_, true)) return;
  for (auto& [owner, group] : groups_) group.thread = std::jthread(group.abort);
}

void Interrupt::check() const {
  const std::lock_guard lock(mutex_);
  if (is_raised_) throw CommunicationError("a newer generation has ended this one");
}

void Interrupt::add(const void* owner, std::function<void()> abort) {
  const std::lock_guard lock(mutex_);
  GroupAbort& group = groups_[owner];
  group.abort = std::move(abort);
  if (is_raised_) group.thread = std::jthread(group.abort);
}

void Interrupt::remove(const void* owner) {
  decltype(groups_)::node_type removed;  // destroyed without the lock, because its thread is joined
  const std::lock_guard lock(mutex_);
  removed = groups_.extract(owner);
}

}  // namespace sailor::trainer
