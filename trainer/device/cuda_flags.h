// The GPU architectures for which the CUDA half of LibTorch was compiled. LibTorch itself tells them only on a machine
// with a driver that is new enough, but an image has to tell them anywhere.
#pragma once

#include <string>

namespace sailor::trainer {

// Returns the compiler's options, "arch=compute_90,code=sm_90" among them. They are empty in a program without CUDA.
std::string cuda_flags();

}  // namespace sailor::trainer
