// Collectives between GPUs over NCCL, in programs that are linked with CUDA (cuda.cmake).
#pragma once

#include <chrono>

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace sailor::trainer {

// What a LibTorch backend needs to connect its members.
struct BackendMembership {
  c10::intrusive_ptr<c10d::Store> store;  // where the members exchange their addresses
  int index = 0;                          // of this member
  int size = 1;                           // members
};

// Waiting for a collective of this backend returns when it is done, and throws once it has taken longer than the
// timeout.
c10::intrusive_ptr<c10d::Backend> make_nccl_backend(const BackendMembership& membership,
                                                    std::chrono::milliseconds timeout);

}  // namespace sailor::trainer
