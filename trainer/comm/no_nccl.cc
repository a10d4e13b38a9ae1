// The make_nccl_backend of programs without CUDA. It has a file of its own: a program with CUDA links nccl.cc as an
// object, so the linker does not take this definition out of the library.
#include "core/model/check.h"
#include "trainer/comm/nccl.h"

namespace sailor::trainer {

c10::intrusive_ptr<c10d::Backend> make_nccl_backend(const BackendMembership&, std::chrono::milliseconds) {
  SAILOR_CHECK(false, "NCCL in a program that is not linked with CUDA");
}

}  // namespace sailor::trainer
