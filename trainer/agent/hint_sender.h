// HintSender: posts hints to the operator on its own thread, so that the reports of workers do not wait for the
// network. A hint asks the operator to look at the job now. A lost hint only costs time, because the operator also
// polls.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "core/protocol/hint.h"
#include "trainer/agent/agent_credentials.h"

namespace sailor::trainer {

class HintSender {
 public:
  // The sender's thread calls `on_dismissal` when the operator answers a hint with kStatusGone. This status means that
  // the operator does not need this agent any more. After kStatusRetry the sender posts the hint again, every
  // kHintRetry until it is destroyed. `credentials` may be null.
  HintSender(AgentCredentials* credentials, std::function<void()> on_dismissal);
  ~HintSender();  // sends the remaining hints, each within kCallbackTimeout
  HintSender(const HintSender&) = delete;
  HintSender& operator=(const HintSender&) = delete;

  void send(const std::string& callback, const Hint& hint);  // does nothing if the callback is empty

 private:
  void work();
  bool post(const std::string& callback, const Hint& hint) const;  // returns false if the hint must be posted again

  AgentCredentials* const credentials_;
  std::function<void()> on_dismissal_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<std::string, Hint>> hints_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace sailor::trainer
