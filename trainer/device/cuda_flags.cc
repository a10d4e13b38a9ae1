#include "trainer/device/cuda_flags.h"

namespace sailor::trainer {

std::string cuda_flags() { return SAILOR_CUDA_FLAGS; }  // cuda.cmake reads them from the library

}  // namespace sailor::trainer
