#include "trainer/comm/interrupt.h"

#include <utility>

#include "core/log/log.h"
#include "trainer/comm/communication_error.h"

namespace sailor::trainer {
namespace {

// An abort that fails has nobody to report to: the generation is over, and the group is about to be destroyed.
std::jthread aborting(std::function<void()> abort) {
  return std::jthread([abort = std::move(abort)] {
    try {
      abort();
    } catch (const std::exception& error) {
      const std::string text = error.what();
      log_warning("a group could not be aborted", {{"why", text.substr(0, text.find('\n'))}});
    }
  });
}

}  // namespace

void Interrupt::raise() { raise(nullptr); }

void Interrupt::raise(std::exception_ptr cause) {
  const std::lock_guard lock(mutex_);
  if (is_raised_) return;
  cause_ = std::move(cause);
  is_raised_ = true;
  for (auto& [owner, group] : groups_) group.thread = aborting(group.abort);
}

void Interrupt::check(const std::string& doing) const {
  if (!is_raised_) return;
  const std::lock_guard lock(mutex_);
  if (cause_) std::rethrow_exception(cause_);
  throw CommunicationError((doing.empty() ? "" : doing + ": ") + "a newer generation has ended this one");
}

void Interrupt::add(const void* owner, std::function<void()> abort) {
  const std::lock_guard lock(mutex_);
  GroupAbort& group = groups_[owner];
  group.abort = std::move(abort);
  if (is_raised_) group.thread = aborting(group.abort);
}

void Interrupt::remove(const void* owner) {
  decltype(groups_)::node_type removed;  // destroyed without the lock, because its thread is joined
  const std::lock_guard lock(mutex_);
  removed = groups_.extract(owner);
}

}  // namespace sailor::trainer
