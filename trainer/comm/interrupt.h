// Interrupt: lets one thread abort the communication groups that other threads use.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace sailor::trainer {

class Interrupt {
 public:
  Interrupt() = default;
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // Aborts all groups, each on a thread of its own, because Gloo takes up to 10 ms for each connection, one after the
  // other. Does not wait for the threads. Every wait in the groups ends with CommunicationError, and so does every
  // later call. The connections of the groups are closed, so peers consider this worker lost.
  void raise();
  // Throws CommunicationError if the interrupt was raised. Code that computes for a long time without using a group
  // calls it.
  void check() const;

  // A group registers the function that aborts it, and removes the function when it is destroyed. `owner` is the group.
  // If the interrupt was raised before, add() aborts the group. remove() waits until an abort of the group is over.
  void add(const void* owner, std::function<void()> abort);
  void remove(const void* owner);

 private:
  struct GroupAbort {
    std::function<void()> abort;
    std::jthread thread;
  };
  mutable std::mutex mutex_;
  bool is_raised_ = false;
  std::map<const void*, GroupAbort> groups_;
};

}  // namespace sailor::trainer
