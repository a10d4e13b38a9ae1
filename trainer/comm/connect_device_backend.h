// Connects a device backend (device_backend.h), whose connecting can neither be aborted nor given a timeout.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "trainer/comm/backend_group.h"
#include "trainer/comm/device_backend.h"
#include "trainer/comm/interrupt.h"
#include "trainer/comm/rendezvous.h"

namespace sailor::trainer {

struct DeviceGroup {
  std::string name;
  BackendMembership membership;
  std::vector<Member> members;
};

// The members first meet in the rendezvous store, where a wait can end early. Then each connects on a thread of its
// own. If that takes longer than the timeout or is interrupted, the function throws CommunicationError and leaves the
// thread behind. Should the thread ever return, it closes the connection.
c10::intrusive_ptr<c10d::Backend> connect_device_backend(const MakeDeviceBackend& make, const DeviceGroup& group,
                                                         Rendezvous& rendezvous, std::chrono::milliseconds timeout,
                                                         const Interrupt& interrupt);

}  // namespace sailor::trainer
