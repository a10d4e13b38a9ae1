// Collectives between GPUs, in programs that are linked for them (cuda.cmake).
#pragma once

#include <chrono>

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace sailor::trainer {

struct BackendPlace {
  c10::intrusive_ptr<c10d::Store> store;
  int index = 0;  // of this member
  int size = 1;
};

// NCCL's: waiting for a collective returns when it is done, and throws once it has taken longer than the timeout.
c10::intrusive_ptr<c10d::Backend> make_nccl_backend(const BackendPlace& place, std::chrono::milliseconds timeout);

}  // namespace sailor::trainer
