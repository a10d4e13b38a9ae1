// Interrupt: lets one thread abort the communication groups that other threads use.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace sailor::trainer {

class Interrupt {
 public:
  Interrupt() = default;
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // Aborts all groups, each on a thread of its own, because Gloo takes up to 10 ms for each connection, one after the
  // other. Does not wait for the threads. Every wait in the groups ends with an exception, and so does every later
  // call. The connections of the groups are closed, so peers consider this worker lost. Only the first call has an
  // effect.
  void raise();                          // because a newer generation ends this one
  void raise(std::exception_ptr cause);  // because of a failure, which check() throws

  // Throws if the interrupt was raised: the cause, or CommunicationError with what the caller is `doing`. A backend may
  // report an aborted exchange as complete, so every exchange is followed by a check. Code that computes for a long
  // time without using a group calls it too.
  void check(const std::string& doing = "") const;
  [[nodiscard]] bool is_raised() const { return is_raised_; }

  // A group registers the function that aborts it, and removes the function when it is destroyed. `owner` is the group.
  // If the interrupt was raised before, add() aborts the group. remove() waits until an abort of the group is over.
  // Exceptions of the function are logged.
  void add(const void* owner, std::function<void()> abort);
  void remove(const void* owner);

 private:
  struct GroupAbort {
    std::function<void()> abort;
    std::jthread thread;
  };
  mutable std::mutex mutex_;
  std::atomic<bool> is_raised_ = false;  // set before the first group is aborted
  std::exception_ptr cause_;             // null: a newer generation
  std::map<const void*, GroupAbort> groups_;
};

}  // namespace sailor::trainer
