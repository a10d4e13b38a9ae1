#include "trainer/comm/nccl.h"

#include <chrono>
#include <cstdlib>

#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "core/log/log.h"
#include "trainer/comm/backend_error.h"

namespace sailor::trainer {
namespace {

// LibTorch reads these when a group is made. Its waits make the stream wait and not the host, and its watchdog thread
// ends neither the communicator nor the process: CollectiveWatch looks after timeouts and errors instead, so that the
// survivors of a lost peer can regroup in the same process.
void leave_failures_to_collective_watch() {
  setenv("TORCH_NCCL_BLOCKING_WAIT", "0", /*overwrite=*/1);
  setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0", /*overwrite=*/1);
  setenv("TORCH_NCCL_ENABLE_MONITORING", "0", /*overwrite=*/1);
}

// A collective that is running when its generation ends may never complete, because a peer is gone. So it is aborted.
class AbortingNccl : public c10d::ProcessGroupNCCL {
 public:
  using c10d::ProcessGroupNCCL::ProcessGroupNCCL;
  ~AbortingNccl() override {
    try {
      abort();
    } catch (const std::exception& error) {
      log_warning("NCCL could not close a group", {{"why", first_line(error.what())}});
    }
  }
};

}  // namespace

c10::intrusive_ptr<c10d::Backend> make_nccl_backend(const BackendMembership& membership) {
  constexpr std::chrono::hours kNever{24 * 365};
  leave_failures_to_collective_watch();
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = kNever;
  return c10::make_intrusive<AbortingNccl>(membership.store, membership.index, membership.size, options);
}

}  // namespace sailor::trainer
