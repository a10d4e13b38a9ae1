// GroupFactory: connects the communication groups of one generation, over Gloo or NCCL.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trainer/comm/backend_group.h"
#include "trainer/comm/connect_device_backend.h"
#include "trainer/comm/device_backend.h"
#include "trainer/comm/group.h"
#include "trainer/comm/interrupt.h"
#include "trainer/comm/rendezvous.h"

namespace sailor::trainer {

struct GroupOptions {
  std::vector<std::string> names = {};  // of all ranks, for messages of exceptions; by default they say "rank N"
  MakeDeviceBackend make_device_backend = nullptr;  // by default NCCL on a GPU; on a CPU null, which means Gloo
  std::optional<std::chrono::milliseconds> connect_timeout = {};  // of a device backend; by default the timeout
  std::shared_ptr<Interrupt> interrupt = nullptr;                 // aborts all groups; by default a new one
};

// Making a group connects it, and waits until all its members make it. So all workers must make their common groups in
// the same order. A group of one worker needs no connection.
class GroupFactory {
 public:
  // `host` is the address at which this worker listens.
  GroupFactory(Rendezvous& rendezvous, std::string host, int rank, std::chrono::milliseconds timeout,
               GroupOptions options = {});
  GroupFactory(const GroupFactory&) = delete;
  GroupFactory& operator=(const GroupFactory&) = delete;
  virtual ~GroupFactory() = default;

  // Returns the interrupt that aborts all groups that this factory has made.
  [[nodiscard]] const std::shared_ptr<Interrupt>& interrupt() const { return interrupt_; }

  // Makes a group for messages between any two members and for small sums. It always uses Gloo over TCP and takes
  // tensors of any device.
  [[nodiscard]] virtual std::unique_ptr<Group> make_message_group(const std::string& name,
                                                                  const std::vector<int>& ranks);
  // The same, with all ranks below `workers`.
  [[nodiscard]] std::unique_ptr<Group> make_message_group(const std::string& name, int workers);

  // Makes a group for collectives on large tensors of the compute device. It uses the device backend if there is one,
  // else Gloo. Tests override it.
  [[nodiscard]] virtual std::unique_ptr<Group> make_collective_group(const std::string& name,
                                                                     const std::vector<int>& ranks);

 private:
  enum class Type { kGloo, kDevice };
  [[nodiscard]] std::unique_ptr<Group> make_group(const std::string& name, const std::vector<int>& ranks, Type type);
  [[nodiscard]] Connection connect_gloo(const std::string& name, const BackendMembership& membership);
  [[nodiscard]] Connection connect_device(const DeviceGroup& group);

  Rendezvous& rendezvous_;
  std::string host_;
  int rank_;
  std::chrono::milliseconds timeout_;
  GroupOptions options_;
  std::shared_ptr<Interrupt> interrupt_;
  std::shared_ptr<void> gloo_device_;       // has a thread of its own, which all groups of a worker share
  std::shared_ptr<CollectiveWatch> watch_;  // the same; null until a group has a device backend
};

}  // namespace sailor::trainer
