// Connects groups over Gloo.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "trainer/comm/backend_group.h"
#include "trainer/comm/device_backend.h"

namespace sailor::trainer {

// Returns a gloo::transport::Device that listens at the address of this worker. It has a thread of its own, which all
// groups of the worker share. The type is void so that only gloo.cc includes the headers of Gloo.
std::shared_ptr<void> make_gloo_device(const std::string& host);

// Waits until all members connect. `device` is that of make_gloo_device(). The timeout is that of connecting and of the
// first collectives.
Connection connect_gloo(const BackendMembership& membership, std::chrono::milliseconds timeout,
                        const std::shared_ptr<void>& device);

}  // namespace sailor::trainer
