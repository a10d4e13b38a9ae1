#include "trainer/comm/interrupt.h"

#include <utility>

#include "trainer/comm/communication_error.h"

namespace sailor::trainer {

void Interrupt::raise() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(is_raised_, true)) return;
  for (const auto& [owner, abort] : groups_) abort();
}

void Interrupt::check() const {
  const std::lock_guard lock(mutex_);
  if (is_raised_) throw CommunicationError("a newer generation has ended this one");
}

void Interrupt::add(const void* owner, std::function<void()> abort) {
  const std::lock_guard lock(mutex_);
  if (is_raised_) abort();
  groups_.emplace(owner, std::move(abort));
}

void Interrupt::remove(const void* owner) {
  const std::lock_guard lock(mutex_);
  groups_.erase(owner);
}

}  // namespace sailor::trainer
