// GroupFactory: connects the communication groups of one generation, over Gloo or NCCL.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trainer/comm/group.h"
#include "trainer/comm/interrupt.h"
#include "trainer/comm/rendezvous.h"

namespace sailor::trainer {

// Making a group waits until all its members make it. So all workers must make their common groups in the same order. A
// group of one worker needs no connection.
class GroupFactory {
 public:
  // `host` is the address at which this worker listens. `names` are the names of all ranks, for the messages of
  // CommunicationError. Without them the messages say "rank N".
  GroupFactory(Rendezvous& rendezvous, std::string host, int rank, std::chrono::milliseconds timeout,
               std::vector<std::string> names = {});
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

  // Makes a group for collectives on large tensors of the compute device. It uses NCCL if that device is a GPU, else
  // Gloo. Tests override it.
  [[nodiscard]] virtual std::unique_ptr<Group> make_collective_group(const std::string& name,
                                                                     const std::vector<int>& ranks);

 private:
  enum class BackendType { kGloo, kNccl };
  [[nodiscard]] std::unique_ptr<Group> connect(const std::string& name, const std::vector<int>& ranks,
                                               BackendType type);

  Rendezvous& rendezvous_;
  std::string host_;
  int rank_;
  std::chrono::milliseconds timeout_;
  std::vector<std::string> names_;
  std::shared_ptr<void> gloo_device_;  // has a thread of its own, which all groups of a worker share
  std::shared_ptr<Interrupt> interrupt_;
};

}  // namespace sailor::trainer
