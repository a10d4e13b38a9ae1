#include "trainer/comm/connect_device_backend.h"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include <c10/core/DeviceGuard.h>
#include <fmt/format.h>

#include "trainer/comm/backend_error.h"
#include "trainer/comm/communication_error.h"
#include "trainer/device/device.h"

namespace sailor::trainer {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLook{100};  // how soon a wait notices the interrupt

std::string doing_of(const DeviceGroup& group) { return fmt::format("connecting group {}", group.name); }

void meet(const DeviceGroup& group, Rendezvous& rendezvous, Clock::time_point deadline, const Interrupt& interrupt) {
  std::vector<std::string> keys;
  keys.reserve(group.members.size());
  for (const Member& member : group.members) keys.push_back(fmt::format("{}/meets/{}", group.name, member.rank));
  const auto own = static_cast<std::size_t>(group.membership.index);
  rendezvous.set(keys[own], "yes");
  while (!rendezvous.wait_for_all(keys, kLook)) {
    interrupt.check(doing_of(group));
    if (Clock::now() < deadline) continue;
    const auto missing = std::ranges::find_if(keys, [&](const std::string& key) { return !rendezvous.is_set(key); });
    if (missing == keys.end()) return;  // the last one has just arrived
    const Member& member = group.members[static_cast<std::size_t>(missing - keys.begin())];
    throw CommunicationError(fmt::format("{}: {} did not arrive in time", doing_of(group), member.name));
  }
}

// One connection in the making. The thread that connects shares it with the one that waits.
class Attempt {
 public:
  void run(const MakeDeviceBackend& make, const BackendMembership& membership) {
    c10::intrusive_ptr<c10d::Backend> backend;
    std::exception_ptr error;
    try {
      const c10::DeviceGuard device(compute_device());  // the current device is a setting of the thread
      backend = make(membership);
      backend->eagerConnectSingleDevice(compute_device());
    } catch (...) {  // result() throws it
      error = std::current_exception();
      backend.reset();
    }
    const std::lock_guard lock(mutex_);
    is_done_ = true;
    error_ = error;
    if (!is_abandoned_) backend_ = std::move(backend);
    changed_.notify_all();
  }

  bool is_done_within(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, timeout, [&] { return is_done_; });
  }

  void abandon() {
    const std::lock_guard lock(mutex_);
    is_abandoned_ = true;
    backend_.reset();
  }

  c10::intrusive_ptr<c10d::Backend> result() {
    const std::lock_guard lock(mutex_);
    if (error_) std::rethrow_exception(error_);
    return std::move(backend_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_done_ = false;
  bool is_abandoned_ = false;
  std::exception_ptr error_;
  c10::intrusive_ptr<c10d::Backend> backend_;
};

}  // namespace

c10::intrusive_ptr<c10d::Backend> connect_device_backend(const MakeDeviceBackend& make, const DeviceGroup& group,
                                                         Rendezvous& rendezvous, std::chrono::milliseconds timeout,
                                                         const Interrupt& interrupt) {
  const auto deadline = Clock::now() + timeout;
  meet(group, rendezvous, deadline, interrupt);
  const auto attempt = std::make_shared<Attempt>();
  std::thread([attempt, make, membership = group.membership] { attempt->run(make, membership); }).detach();
  while (!attempt->is_done_within(kLook)) {
    const bool is_late = Clock::now() > deadline;
    if (!is_late && !interrupt.is_raised()) continue;
    attempt->abandon();
    interrupt.check(doing_of(group));
    throw CommunicationError(fmt::format("{}: a member did not connect in time", doing_of(group)));
  }
  return translate_errors(doing_of(group), [&] { return attempt->result(); });
}

}  // namespace sailor::trainer
