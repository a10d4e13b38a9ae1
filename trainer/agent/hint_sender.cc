#include "trainer/agent/hint_sender.h"

#include <fmt/format.h>

#include "core/log/log.h"
#include "core/net/http_message.h"
#include "core/protocol/endpoints.h"
#include "core/protocol/timeouts.h"
#include "trainer/agent/post_to_operator.h"

namespace sailor::trainer {
HintSender::HintSender(AgentCredentials* credentials, std::function<void()> on_dismissal)
    : credentials_(credentials), on_dismissal_(std::move(on_dismissal)), thread_([this] { work(); }) {}

HintSender::~HintSender() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void HintSender::send(const std::string& callback, const Hint& hint) {
  if (callback.empty()) return;
  const std::lock_guard lock(mutex_);
  hints_.emplace_back(callback, hint);
  changed_.notify_all();
}

void HintSender::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return is_ending_ || !hints_.empty(); });
    if (hints_.empty()) return;
    const auto [callback, hint] = std::move(hints_.front());
    hints_.pop_front();
    lock.unlock();
    const bool is_done = post(callback, hint);
    lock.lock();
    if (is_done || is_ending_) continue;
    hints_.emplace_back(callback, hint);
    changed_.wait_for(lock, kHintRetry, [&] { return is_ending_; });
  }
}

bool HintSender::post(const std::string& callback, const Hint& hint) const {
  const Result<int> status = post_to_operator(callback, kHintsPath, to_json(hint), credentials_);
  if (status && *status == kStatusRetry) return false;
  if (status && *status == kStatusGone) {
    on_dismissal_();
  } else if (!status || !net::is_success(*status)) {
    const std::string why = status ? fmt::format("{} answered {}", callback, *status) : status.error().message;
    log_warning("hint not delivered",
                {{"reason", std::string(to_string(hint.reason))}, {"message", hint.message}, {"why", why}});
  }
  return true;
}

}  // namespace sailor::trainer
