#include "trainer/agent/hint_sender.h"

#include <fmt/format.h>

#include "core/protocol/endpoints.h"
#include "trainer/agent/http_server.h"
#include "trainer/log.h"

namespace sailor::trainer {
HintSender::HintSender(std::function<void()> on_dismissal)
    : on_dismissal_(std::move(on_dismissal)), thread_([this] { work(); }) {}

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
  hints_.emplace_back(url_at(callback, std::string(kHintsPath)), hint);
  changed_.notify_all();
}

void HintSender::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return is_ending_ || !hints_.empty(); });
    if (hints_.empty()) return;
    const auto [url, hint] = std::move(hints_.front());
    hints_.pop_front();
    lock.unlock();
    post(url, hint);
    lock.lock();
  }
}

void HintSender::post(const std::string& url, const Hint& hint) const {
  const Result<int> status = post_json(url, to_json(hint));
  if (status && *status == kStatusGone) {
    on_dismissal_();
  } else if (!status || *status >= 300) {
    const std::string why = status ? fmt::format("{} answered {}", url, *status) : status.error().message;
    log_warning("hint not delivered",
                {{"reason", std::string(to_string(hint.reason))}, {"message", hint.message}, {"why", why}});
  }
}

}  // namespace sailor::trainer
