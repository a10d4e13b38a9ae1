// HintSender: posts hints to the operator on its own thread, so that the reports of workers do not wait for the
// network. A hint asks the operator to look at the job now. A lost hint only costs time, because the operator also
// polls.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/protocol/hint.h"
#include "trainer/agent/agent_credentials.h"

namespace sailor::trainer {

class HintSender {
 public:
  // The sender's thread calls `on_dismissal` when the operator answers a hint with kStatusGone. This status means that
  // the operator does not need this agent any more. The sender posts a hint again after kHintRetry if the operator
  // answers kStatusRetry, and a hint that the pod was told to stop until that dismissal: the job may be deleted or
  // suspended after an answer, and a new operator may have to be asked. `credentials` may be null.
  HintSender(AgentCredentials* credentials, std::function<void()> on_dismissal);
  ~HintSender();  // sends the hints that were not posted yet, each within kCallbackTimeout
  HintSender(const HintSender&) = delete;
  HintSender& operator=(const HintSender&) = delete;

  void set_callback(const std::string& url);  // where hints are posted from now on
  void send(const Hint& hint);                // does nothing while there is no callback

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    Hint hint;
    Clock::time_point due;
    bool is_repeated = false;
  };

  void work();
  std::optional<Waiting> next(std::unique_lock<std::mutex>& lock);  // nullopt: the sender ends
  // Returns whether the hint is done with, and need not be posted again.
  [[nodiscard]] bool post(const std::string& callback, const Waiting& waiting) const;

  AgentCredentials* const credentials_;
  std::function<void()> on_dismissal_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string callback_;
  std::vector<Waiting> waiting_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace sailor::trainer
