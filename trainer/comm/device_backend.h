// The backends for collectives between the compute devices of workers. On GPUs this is NCCL (nccl.h). Tests put a
// backend of their own in its place.
#pragma once

#include <functional>

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace sailor::trainer {

// What a LibTorch backend needs to connect its members.
struct BackendMembership {
  c10::intrusive_ptr<c10d::Store> store;  // the members exchange their addresses in it
  int index = 0;                          // position of this member in the group
  int size = 1;                           // number of members
};

// Makes the backend of one group, without connecting it. The backend must behave as NCCL does:
// * eagerConnectSingleDevice() connects. It blocks its caller until all members call it, and cannot be aborted.
// * Collectives are started in order. A wait for one makes the device wait, not the host, and knows no timeout.
// * abort() ends all collectives. An aborted collective looks complete, but its result is undefined. abort() may throw.
using MakeDeviceBackend = std::function<c10::intrusive_ptr<c10d::Backend>(const BackendMembership&)>;

}  // namespace sailor::trainer
