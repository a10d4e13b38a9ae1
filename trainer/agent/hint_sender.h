// HintSender: posts hints to the operator on a thread of its own, so that no worker's news waits for the network. A
// hint that is lost costs time only.
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
  // on_dismissal is called, on the sender's thread, when the operator answers a hint with 410: nobody needs this agent.
  explicit HintSender(std::function<void()> on_dismissal);
  ~HintSender();  // sends what is left: each hint takes a few seconds at most
  HintSender(const HintSender&) = delete;
  HintSender& operator=(const HintSender&) = delete;

  void send(const std::string& callback, const Hint& hint);  // an empty callback: nobody to tell

 private:
  void work();
  void post(const std::string& url, const Hint& hint) const;

  std::function<void()> on_dismissal_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<std::string, Hint>> hints_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace sailor::trainer
