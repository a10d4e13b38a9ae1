// A backend for collectives of CPU tensors that has the manners of NCCL (comm/device_backend.h) and Gloo's sums:
// * It connects when it is told to, or, if that is ignored, at the first collective. Connecting blocks the caller until
//   all members connect; it cannot be aborted, and abort() waits for it.
// * A collective whose peer is lost neither ends nor fails, until it is aborted.
// * An aborted collective completes without an error and without its result.
// * abort() throws, after its work is done.
#pragma once

#include <chrono>
#include <exception>
#include <functional>

#include "trainer/comm/device_backend.h"

namespace sailor::trainer::testing {

struct NcclManners {
  bool connects_eagerly = true;                             // false: only at the first collective
  std::chrono::milliseconds connect_timeout{60'000};        // a lost peer in connecting would otherwise hang a test
  std::function<void(int index)> while_connecting = {};     // called by each member; may block or throw
  std::function<void(int index)> at_collective = {};        // called at the start of each collective; may throw
  std::function<std::exception_ptr(int index)> error = {};  // what a collective that has started reports; null: nothing
};

MakeDeviceBackend nccl_like(NcclManners manners = {});

// The backend of collectives with which tests train: nccl_like() if the environment has
// SAILOR_TEST_COLLECTIVES=nccl-like, else null, which means Gloo. Tests that do not depend on it run with both.
MakeDeviceBackend collectives_under_test();

}  // namespace sailor::trainer::testing
