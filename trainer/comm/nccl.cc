#include "trainer/comm/nccl.h"

#include <cstdlib>

#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

namespace sailor::trainer {
namespace {

// LibTorch asks for these when a group is made. A failure has to surface where the trainer waits, as an exception, so
// that survivors regroup in the same process; by default its watchdog thread would end the process instead.
void make_failures_exceptions() {
  setenv("TORCH_NCCL_BLOCKING_WAIT", "1", /*overwrite=*/1);
  setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0", /*overwrite=*/1);
  setenv("TORCH_NCCL_ENABLE_MONITORING", "0", /*overwrite=*/1);
}

// What is under way when a generation ends may never end by itself, since a peer is gone: it is broken off.
class AbortingNccl : public c10d::ProcessGroupNCCL {
 public:
  using c10d::ProcessGroupNCCL::ProcessGroupNCCL;
  ~AbortingNccl() override { abort(); }
};

}  // namespace

c10::intrusive_ptr<c10d::Backend> make_nccl_backend(const BackendPlace& place, std::chrono::milliseconds timeout) {
  make_failures_exceptions();
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = timeout;
  return c10::make_intrusive<AbortingNccl>(place.store, place.index, place.size, options);
}

}  // namespace sailor::trainer
