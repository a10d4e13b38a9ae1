// HintSender: posts hints to the operator on a thread of its own, so that reports of workers do not wait for the
// network. A lost hint only costs time.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "core/protocol/hint.h"

namespace sailor::trainer {

class HintSender {
 public:
  // `on_dismissal` is called on the sender's thread when the operator answers a hint with kStatusGone: nothing needs
  // this agent any more.
  explicit HintSender(std::function<void()> on_dismissal);
  ~HintSender();  // sends the hints that are left; each takes kCallbackTimeout at most
  HintSender(const HintSender&) = delete;
  HintSender& operator=(const HintSender&) = delete;

  void send(const std::string& callback, const Hint& hint);  // does nothing if the callback is empty

 private:
  void work();
  void post(const std::string& callback, const Hint& hint) const;

  std::function<void()> on_dismissal_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<std::string, Hint>> hints_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace sailor::trainer
