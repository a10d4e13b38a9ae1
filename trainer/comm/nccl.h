// Makes backends for collectives between GPUs over NCCL. Programs that are linked with CUDA use nccl.cc (cuda.cmake).
// All other programs use no_nccl.cc, which fails if it is called.
#pragma once

#include "trainer/comm/device_backend.h"

namespace sailor::trainer {

c10::intrusive_ptr<c10d::Backend> make_nccl_backend(const BackendMembership& membership);  // a MakeDeviceBackend

}  // namespace sailor::trainer
