// Defines cuda_flags for programs without CUDA, in a file of its own as comm/no_nccl.cc.
#include "trainer/device/cuda_flags.h"

namespace sailor::trainer {

std::string cuda_flags() { return ""; }

}  // namespace sailor::trainer
