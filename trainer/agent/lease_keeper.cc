#include "trainer/agent/lease_keeper.h"

#include <algorithm>

#include "core/net/http_message.h"
#include "core/protocol/endpoints.h"
#include "core/protocol/lease.h"
#include "trainer/agent/post_to_operator.h"

namespace sailor::trainer {
LeaseKeeper::LeaseKeeper(std::function<void(const Lease&)> on_renewal)
    : on_renewal_(std::move(on_renewal)), thread_([this] { work(); }) {}

LeaseKeeper::~LeaseKeeper() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void LeaseKeeper::keep(const Assignment& assignment) {
  if (assignment.lease_seconds == 0) return;
  const std::lock_guard lock(mutex_);
  terms_.push_back({assignment.callback, assignment.job, assignment.job_uid, assignment.generation,
                    std::chrono::seconds(assignment.lease_seconds)});
  has_news_ = true;
  changed_.notify_all();
}

void LeaseKeeper::forget_before(std::int64_t generation) {
  const std::lock_guard lock(mutex_);
  std::erase_if(terms_, [&](const Terms& terms) { return terms.generation < generation; });
}

void LeaseKeeper::set_callback(const std::string& callback) {
  const std::lock_guard lock(mutex_);
  for (Terms& terms : terms_) terms.callback = callback;
  has_news_ = true;
  changed_.notify_all();
}

void LeaseKeeper::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return is_ending_ || !terms_.empty(); });
    if (is_ending_) return;
    has_news_ = false;
    const std::vector<Terms> all = terms_;
    lock.unlock();
    const bool all_are_renewed =
        std::ranges::count_if(all, [&](const Terms& terms) { return ask(terms); }) == std::ssize(all);
    lock.lock();
    const std::chrono::milliseconds pause = std::chrono::milliseconds(all.back().length) / kQuestionsPerLease;
    changed_.wait_for(lock, all_are_renewed ? pause : pause / kQuestionsPerLease,
                      [&] { return is_ending_ || has_news_; });
  }
}

bool LeaseKeeper::ask(const Terms& terms) const {
  const auto asked = BootClock::now();
  const LeaseQuestion question{terms.job, terms.job_uid, terms.generation};
  const Result<int> status = post_to_operator(terms.callback, kLeasesPath, to_json(question));
  const bool is_renewed = status && net::is_success(*status);
  if (is_renewed) on_renewal_(granted(terms.generation, asked, terms.length));
  return is_renewed;
}

}  // namespace sailor::trainer
