// AssignmentMailbox: holds the newest assignment of a worker, and its leases. The reader thread (agent/worker_main.h)
// puts them here, and the worker loop takes them. A newer assignment can interrupt communication in which the loop
// waits.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/protocol/assignment.h"
#include "trainer/comm/interrupt.h"
#include "trainer/elastic/protocol/lease.h"

namespace sailor::trainer {

class AssignmentMailbox {
 public:
  void put(Assignment assignment) {
    const std::lock_guard calling(calls_);
    std::unique_lock lock(mutex_);
    if (assignment.generation <= newest_locked()) return;
    newest_ = std::move(assignment);
    changed_.notify_all();
    interrupt_locked();
    notify_listener(lock);
  }

  // Calls `listener` with each newer assignment, on the thread that puts it, or at once if one is here already. The
  // worker loop may be computing for long meanwhile. The listener must not call put() or these functions.
  using Listener = std::function<void(const Assignment& newer)>;
  void listen_for_newer_than(std::int64_t generation, Listener listener) {
    const std::lock_guard calling(calls_);
    std::unique_lock lock(mutex_);
    heard_ = generation;
    listener_ = std::move(listener);
    notify_listener(lock);
  }
  void stop_listening() { listen_for_newer_than(0, nullptr); }  // waits for a call that has begun

  // Raises the interrupt as soon as an assignment newer than `generation` arrives that ends this generation at once, or
  // immediately if such an assignment is already here. `ends_at_once` returns whether a newer assignment does so.
  using EndsAtOnce = std::function<bool(const Assignment& newer)>;
  void arm_interrupt(std::int64_t generation, EndsAtOnce ends_at_once, std::shared_ptr<Interrupt> interrupt) {
    const std::lock_guard lock(mutex_);
    armed_for_ = generation;
    ends_at_once_ = std::move(ends_at_once);
    interrupt_ = std::move(interrupt);
    interrupt_locked();
  }

  // Raises the interrupt if it is armed and an assignment newer than its generation is here.
  void interrupt() {
    const std::lock_guard lock(mutex_);
    if (interrupt_ && newest_locked() > armed_for_) interrupt_->raise();
  }

  void disarm_interrupt() {
    const std::lock_guard lock(mutex_);
    interrupt_.reset();
  }

  // Adds a lease and drops the leases that it replaces or that have expired. Leases of two generations can be valid at
  // the same time, because the next generation may get a lease while the current one still trains.
  void renew(const Lease& lease) {
    const std::lock_guard lock(mutex_);
    std::erase_if(leases_, [&, now = BootClock::now()](const Lease& one) {
      return one.generation == lease.generation || !is_valid(one, one.generation, now);
    });
    leases_.push_back(lease);
    changed_.notify_all();
  }

  [[nodiscard]] bool has_lease(std::int64_t generation) const {
    const std::lock_guard lock(mutex_);
    return has_lease_locked(generation);
  }

  // Waits until this generation has a lease, a newer generation is known, or the mailbox is closed.
  void wait_for_lease(std::int64_t generation) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_closed_ || newest_locked() > generation || has_lease_locked(generation); });
  }

  void close() {  // no more messages will come
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    changed_.notify_all();
  }

  // Waits for an assignment newer than this generation and returns it. Returns nothing if the mailbox is closed.
  std::optional<Assignment> wait_for_newer_than(std::int64_t generation) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_closed_ || newest_locked() > generation; });
    return is_closed_ ? std::nullopt : newest_;
  }

  // Returns the newest assignment if it is newer than this generation and the mailbox is not closed. Does not wait.
  [[nodiscard]] std::optional<Assignment> newer_than(std::int64_t generation) const {
    const std::lock_guard lock(mutex_);
    return !is_closed_ && newest_locked() > generation ? newest_ : std::nullopt;
  }

  [[nodiscard]] bool is_closed() const {
    const std::lock_guard lock(mutex_);
    return is_closed_;
  }

  // Returns true also if the mailbox is closed, because the caller must stop waiting in both cases.
  [[nodiscard]] bool has_newer_than(std::int64_t generation) const {
    const std::lock_guard lock(mutex_);
    return is_closed_ || newest_locked() > generation;
  }

 private:
  [[nodiscard]] std::int64_t newest_locked() const { return newest_ ? newest_->generation : 0; }

  [[nodiscard]] bool has_lease_locked(std::int64_t generation) const {
    return std::ranges::any_of(leases_, [&](const Lease& one) { return is_valid(one, generation, BootClock::now()); });
  }

  void interrupt_locked() {
    const bool is_newer = newest_ && newest_->generation > armed_for_;
    if (interrupt_ && is_newer && ends_at_once_(*newest_)) interrupt_->raise();
  }

  // Unlocks, because the listener may use the mailbox.
  void notify_listener(std::unique_lock<std::mutex>& lock) {
    if (!listener_ || newest_locked() <= heard_) return;
    heard_ = newest_locked();
    const auto listener = listener_;
    const Assignment newest = newest_.value();
    lock.unlock();
    listener(newest);
  }

  std::mutex calls_;  // held while the listener is called
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Assignment> newest_;
  std::vector<Lease> leases_;
  std::int64_t armed_for_ = 0;
  EndsAtOnce ends_at_once_;
  std::shared_ptr<Interrupt> interrupt_;  // null: not armed
  Listener listener_;
  std::int64_t heard_ = 0;  // the newest generation that the listener knows
  bool is_closed_ = false;
};

}  // namespace sailor::trainer
