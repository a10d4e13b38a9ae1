#include "trainer/comm/collective_watch.h"

#include <utility>

#include <fmt/format.h>

#include "trainer/comm/backend_error.h"
#include "trainer/comm/communication_error.h"

namespace sailor::trainer {
namespace {

constexpr std::chrono::milliseconds kPoll{20};

// Returns the exception that the action throws, or null.
template <class Action>
std::exception_ptr exception_of(Action action) {
  try {
    action();
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace

CollectiveWatch::CollectiveWatch(std::shared_ptr<Interrupt> interrupt)
    : interrupt_(std::move(interrupt)), thread_([this](const std::stop_token& stop) { run(stop); }) {}

void CollectiveWatch::Watched::replace(IsComplete is_complete) {
  const std::lock_guard lock(entry_->mutex);
  if (entry_->is_complete) entry_->is_complete = std::move(is_complete);
}

void CollectiveWatch::Watched::end() { replace(nullptr); }

CollectiveWatch::Watched CollectiveWatch::watch(std::string doing, std::chrono::milliseconds timeout,
                                                IsComplete is_complete) {
  Watched watched;
  watched.entry_ = std::make_shared<Entry>();
  watched.entry_->doing = std::move(doing);
  watched.entry_->timeout = timeout;
  watched.entry_->deadline = std::chrono::steady_clock::now() + timeout;
  watched.entry_->is_complete = std::move(is_complete);
  const std::lock_guard lock(mutex_);
  entries_.push_back(watched.entry_);
  if (is_idle_) changed_.notify_all();
  return watched;
}

void CollectiveWatch::run(const std::stop_token& stop) {
  std::list<std::shared_ptr<Entry>> watched;
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(mutex_);
      is_idle_ = watched.empty();
      if (is_idle_) changed_.wait(lock, stop, [&] { return !entries_.empty(); });
      is_idle_ = false;
      watched.splice(watched.end(), entries_);
    }
    watched.remove_if([&](const auto& entry) { return is_over(*entry); });
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, kPoll, [] { return false; });
  }
}

bool CollectiveWatch::is_over(Entry& entry) {
  const std::lock_guard lock(entry.mutex);
  bool is_over = !entry.is_complete || interrupt_->is_raised();
  const auto failure = exception_of([&] {
    is_over = is_over || translate_errors(entry.doing, [&] { return entry.is_complete(); });
    const bool is_late = !is_over && std::chrono::steady_clock::now() > entry.deadline;
    if (is_late)
      throw CommunicationError(fmt::format("{}: not complete after {} ms", entry.doing, entry.timeout.count()));
  });
  if (failure) interrupt_->raise(failure);
  is_over = is_over || failure;
  if (is_over) entry.is_complete = nullptr;
  return is_over;
}

}  // namespace sailor::trainer
