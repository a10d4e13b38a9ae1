// Interrupt: ends, from another thread, whatever a worker waits for in the groups of one generation.
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

  // All waits in the groups end with PeerLost, and so does all that is asked of them afterwards. Their connections are
  // closed, so that peers take this worker for gone.
  void raise();
  void check() const;  // throws PeerLost once it is raised: for whoever computes for long without asking a group

  // A group tells how it is broken off, for as long as it lives. `owner` names it.
  void add(const void* owner, std::function<void()> break_off);
  void remove(const void* owner);

 private:
  mutable std::mutex mutex_;
  bool is_raised_ = false;
  std::map<const void*, std::function<void()>> groups_;
};

}  // namespace sailor::trainer
