#include "trainer/agent/hint_sender.h"

#include <algorithm>
#include <utility>

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

void HintSender::set_callback(const std::string& url) {
  const std::lock_guard lock(mutex_);
  callback_ = url;
}

void HintSender::send(const Hint& hint) {
  const std::lock_guard lock(mutex_);
  if (callback_.empty()) return;
  waiting_.push_back({hint, Clock::now()});
  changed_.notify_all();
}

void HintSender::work() {
  std::unique_lock lock(mutex_);
  while (const std::optional<Waiting> sent = next(lock)) {
    const std::string callback = callback_;
    lock.unlock();
    const bool is_done = post(callback, *sent);
    lock.lock();
    if (!is_done) waiting_.push_back({sent->hint, Clock::now() + kHintRetry, true});
  }
}

std::optional<HintSender::Waiting> HintSender::next(std::unique_lock<std::mutex>& lock) {
  while (true) {
    if (is_ending_) std::erase_if(waiting_, [](const Waiting& waiting) { return waiting.is_repeated; });
    const auto first = std::ranges::min_element(waiting_, {}, &Waiting::due);
    if (first == waiting_.end()) {
      if (is_ending_) return std::nullopt;
      changed_.wait(lock);
    } else if (first->due > Clock::now()) {
      changed_.wait_until(lock, first->due);
    } else {
      Waiting due = std::move(*first);
      waiting_.erase(first);
      return due;
    }
  }
}

bool HintSender::post(const std::string& callback, const Waiting& waiting) const {
  const Hint& hint = waiting.hint;
  const Result<int> status = post_to_operator(callback, kHintsPath, to_json(hint), credentials_);
  if (status && *status == kStatusGone) {
    on_dismissal_();
    return true;
  }
  const bool is_answered = status && (*status == kStatusRetry || net::is_success(*status));
  if (!is_answered && !waiting.is_repeated) {
    const std::string why = status ? fmt::format("{} answered {}", callback, *status) : status.error().message;
    log_warning("hint not delivered",
                {{"reason", std::string(to_string(hint.reason))}, {"message", hint.message}, {"why", why}});
  }
  const bool must_retry = status && *status == kStatusRetry;
  return !must_retry && hint.reason != HintReason::kTerminating;
}

}  // namespace sailor::trainer
