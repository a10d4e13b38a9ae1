#include "trainer/comm/gloo.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <future>
#include <limits>

#include <ATen/ATen.h>
#include <sched.h>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "core/log/log.h"

namespace sailor::trainer {
namespace {

// LibTorch's flight recorder notes every collective with a stack trace. Its first note of a group is not guarded by a
// lock: two groups that start in two threads at once corrupt its map. The trainer does not use it. It is switched off
// before main(), because LibTorch reads the variable only once.
[[maybe_unused]] const int kWithoutFlightRecorder = setenv("TORCH_FR_BUFFER_SIZE", "0", /*overwrite=*/0);

// A lost peer should show up as an error of the write, which names the peer; the signal would end the survivor too. It
// is ignored here so that this holds in every program that communicates, its tests included.
[[maybe_unused]] const auto kBrokenPipesAreErrors = std::signal(SIGPIPE, SIG_IGN);

// Gloo has no call that aborts a group. But when a receive times out, Gloo closes all connections of the group, and
// most waits in it end. So this posts a receive for which no peer ever sends, and lets it time out when the group is
// to be aborted. The receive accepts any sender: if it named one, only the connection to that peer would be closed.
std::function<void()> abort_of_gloo(c10d::Backend& backend) {
  constexpr int kUnusedTag = std::numeric_limits<int>::max();
  constexpr std::chrono::milliseconds kAtOnce{1};
  std::vector<at::Tensor> nothing = {at::empty({1})};
  return [receive = backend.recvAnysource(nothing, kUnusedTag), kAtOnce] {
    try {
      receive->wait(kAtOnce);
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the timeout is the purpose of this wait
    }
  };
}

// Runs a function that starts threads of Gloo, on a thread with the policy that they inherit.
//
// While one thread holds the lock of a connection that has data, the thread that receives for it polls without a pause.
// It must not do so on the core of the lock's holder, so a message that arrives must not preempt the running thread.
// That is what SCHED_BATCH means.
template <class Function>
auto without_preemption(Function function) {
  return std::async(std::launch::async,
                    [&] {
                      const sched_param no_priority{};
                      if (sched_setscheduler(0, SCHED_BATCH, &no_priority) != 0) {
                        log_warning(
                            "cannot set the scheduling policy of communication threads, so steps may take longer",
                            {{"why", std::strerror(errno)}});
                      }
                      return function();
                    })
      .get();
}

}  // namespace

std::shared_ptr<void> make_gloo_device(const std::string& host) {
  return without_preemption([&] { return c10d::ProcessGroupGloo::createDeviceForHostname(host); });
}

Connection connect_gloo(const BackendMembership& membership, std::chrono::milliseconds timeout,
                        const std::shared_ptr<void>& device) {
  auto options = c10d::ProcessGroupGloo::Options::create(timeout);
  options->devices = {std::static_pointer_cast<gloo::transport::Device>(device)};
  options->threads = 1;
  auto backend = without_preemption([&] {
    return c10::make_intrusive<c10d::ProcessGroupGloo>(membership.store, membership.index, membership.size, options);
  });
  return {backend, abort_of_gloo(*backend), /*aborts_single_messages=*/true};
}

}  // namespace sailor::trainer
