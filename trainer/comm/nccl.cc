#include "trainer/comm/nccl.h"

#include <cstdlib>

#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

namespace sailor::trainer {
namespace {

// LibTorch reads these when a group is made. A failure must be thrown as an exception where the trainer waits, so that
// the survivors can regroup in the same process. By default LibTorch's watchdog thread would end the process.
void report_failures_as_exceptions() {
  setenv("TORCH_NCCL_BLOCKING_WAIT", "1", /*overwrite=*/1);
  setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0", /*overwrite=*/1);
  setenv("TORCH_NCCL_ENABLE_MONITORING", "0", /*overwrite=*/1);
}

// A collective that is running when its generation ends may never complete, because a peer is gone. So it is aborted.
class AbortingNccl : public c10d::ProcessGroupNCCL {
 public:
  using c10d::ProcessGroupNCCL::ProcessGroupNCCL;
  ~AbortingNccl() override { abort(); }
};

}  // namespace

c10::intrusive_ptr<c10d::Backend> make_nccl_backend(const BackendMembership& membership,
                                                    std::chrono::milliseconds timeout) {
  report_failures_as_exceptions();
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = timeout;
  return c10::make_intrusive<AbortingNccl>(membership.store, membership.index, membership.size, options);
}

}  // namespace sailor::trainer
