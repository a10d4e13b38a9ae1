#include "trainer/agent/lease_keeper.h"

#include <algorithm>

#include "core/log/log.h"
#include "core/net/http_message.h"
#include "core/protocol/claim.h"
#include "core/protocol/endpoints.h"
#include "core/protocol/lease.h"
#include "trainer/agent/post_to_operator.h"
#include "trainer/checkpoint/folder_claims.h"
#include "trainer/checkpoint/folders.h"

namespace sailor::trainer {
LeaseKeeper::LeaseKeeper(AgentCredentials* credentials, std::function<void(const Lease&)> on_renewal)
    : credentials_(credentials), on_renewal_(std::move(on_renewal)), thread_([this] { work(); }) {}

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
                    std::chrono::seconds(assignment.lease_seconds), checkpoint_folder(assignment)});
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
        std::ranges::count_if(all, [&](const Terms& terms) { return renew(terms); }) == std::ssize(all);
    lock.lock();
    const std::chrono::milliseconds pause = std::chrono::milliseconds(all.back().length) / kQuestionsPerLease;
    changed_.wait_for(lock, all_are_renewed ? pause : pause / kQuestionsPerLease,
                      [&] { return is_ending_ || has_news_; });
  }
}

// The operator comes first, because a file system may hang.
bool LeaseKeeper::renew(const Terms& terms) {
  auto asked = BootClock::now();
  const LeaseQuestion question{terms.job, terms.job_uid, terms.generation};
  const Result<int> status = post_to_operator(terms.callback, kLeasesPath, to_json(question), credentials_);
  if (status && *status == kStatusConflict) return false;
  bool is_renewed = status && net::is_success(*status);
  if (is_renewed) on_renewal_(granted(terms.generation, asked, terms.length));
  claim(terms);
  if (is_renewed) return true;
  asked = BootClock::now();
  is_renewed = holds_claim(terms);
  if (is_renewed) on_renewal_(granted(terms.generation, asked, terms.length));
  return is_renewed;
}

void LeaseKeeper::claim(const Terms& terms) {
  if (terms.folder.empty() || claimed_.contains(terms.generation)) return;
  if (const auto claimed = claim_folder(terms.folder, terms.generation)) {
    claimed_.insert(terms.generation);
  } else {
    log_warning("checkpoint folder not claimed", {{"why", claimed.error().message}});
  }
}

bool LeaseKeeper::holds_claim(const Terms& terms) {
  if (terms.folder.empty()) return false;
  const auto newer = superseded_by(terms.folder, terms.generation);
  if (!newer) log_warning("lease not renewed by the checkpoint folder", {{"why", newer.error().message}});
  return newer && folder_renews(*newer);
}

}  // namespace sailor::trainer
