// Makes backends for collectives between GPUs over NCCL. Programs that are linked with CUDA use nccl.cc (cuda.cmake).
// All other programs use no_nccl.cc, which fails if it is called.
#pragma once

#include <chrono>

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace sailor::trainer {

// What a LibTorch backend needs to connect its members.
struct BackendMembership {
  c10::intrusive_ptr<c10d::Store> store;  // the members exchange their addresses in it
  int index = 0;                          // position of this member in the group
  int size = 1;                           // number of members
};

// A wait for a collective of this backend returns when the collective is done. It throws if the collective takes longer
// than the timeout.
c10::intrusive_ptr<c10d::Backend> make_nccl_backend(const BackendMembership& membership,
                                                    std::chrono::milliseconds timeout);

}  // namespace sailor::trainer
