// Interrupt: aborts the groups of one generation from another thread.
#pragma once

#include <functional>
#include <map>
#include <mutex>

namespace sailor::trainer {

class Interrupt {
 public:
  Interrupt() = default;
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // Every wait in the groups ends with PeerLost, and so does every later call. The connections of the groups are
  // closed, so that peers consider this worker lost.
  void raise();
  // Throws PeerLost once the interrupt is raised. Code that computes for a long time without using a group calls it.
  void check() const;

  // Registers how to abort a group, which stays registered as long as it lives. `owner` identifies it.
  void add(const void* owner, std::function<void()> abort);
  void remove(const void* owner);

 private:
  mutable std::mutex mutex_;
  bool is_raised_ = false;
  std::map<const void*, std::function<void()>> groups_;
};

}  // namespace sailor::trainer
