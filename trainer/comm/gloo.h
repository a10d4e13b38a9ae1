// Connects groups over Gloo.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "trainer/comm/backend_group.h"
#include "trainer/comm/device_backend.h"

namespace sailor::trainer {

// Listens at the address of this worker. It has a thread of its own, which all groups of the worker share.
std::shared_ptr<void> make_gloo_device(const std::string& host);

// Waits until all members connect. The timeout is that of connecting and of the first collectives.
Connection connect_gloo(const BackendMembership& membership, std::chrono::milliseconds timeout,
                        const std::shared_ptr<void>& device);

}  // namespace sailor::trainer
