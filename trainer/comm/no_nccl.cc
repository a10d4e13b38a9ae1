// Defines make_nccl_backend for programs without CUDA. The function needs its own file: a program with CUDA links
// nccl.cc as an object, so the linker does not take this file out of the library.
#include "core/model/check.h"
#include "trainer/comm/nccl.h"

namespace sailor::trainer {

c10::intrusive_ptr<c10d::Backend> make_nccl_backend(const BackendMembership&) {
  SAILOR_CHECK(false, "NCCL in a program that is not linked with CUDA");
}

}  // namespace sailor::trainer
