// Alone in its file: a program for GPUs brings nccl.cc's make_nccl_backend as an object of its own, and the linker
// takes this one out of the library only where that is missing.
#include "core/model/check.h"
#include "trainer/comm/nccl.h"

namespace sailor::trainer {

c10::intrusive_ptr<c10d::Backend> make_nccl_backend(const BackendPlace&, std::chrono::milliseconds) {
  SAILOR_CHECK(false, "a program without CUDA computes on a GPU");
}

}  // namespace sailor::trainer
