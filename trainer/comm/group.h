// Group: workers that exchange tensors. The interface of every kind of communication: Gloo's between CPUs, NCCL's
// between GPUs.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "trainer/comm/rendezvous.h"

namespace sailor::trainer {

// A message on its way. Keeps its tensor alive.
class Transfer {
 public:
  Transfer() = default;
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  virtual ~Transfer() = default;
  virtual void wait() = 0;  // throws PeerLost
};

// Ranks are those of the generation, whatever the group's size. Everything throws PeerLost when a member is gone or
// silent for longer than the timeout; a group that threw is of no use any more. What is started is done in the order of
// starting, the same for all members, while the caller goes on; its tensors are not to be touched before wait().
class Group {
 public:
  Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  virtual ~Group() = default;

  [[nodiscard]] virtual int size() const = 0;
  [[nodiscard]] virtual std::unique_ptr<Transfer> start_sum(
      const at::Tensor& tensor) = 0;  // in place, over all members
  // The sum of all members' `parts`, of which the k-th member gets the k-th of equal parts.
  [[nodiscard]] virtual std::unique_ptr<Transfer> start_sum_of_parts(const at::Tensor& parts,
                                                                     const at::Tensor& mine) = 0;
  // All members' tensors of equal size, one after the other.
  [[nodiscard]] virtual std::unique_ptr<Transfer> start_gather(const at::Tensor& mine, const at::Tensor& parts) = 0;
  virtual void max(const at::Tensor& tensor) = 0;         // in place, over all members
  virtual void set_timeout(std::chrono::milliseconds) {}  // of what is started from now on
  [[nodiscard]] virtual std::unique_ptr<Transfer> send(const at::Tensor& tensor, int to, int tag) = 0;
  [[nodiscard]] virtual std::unique_ptr<Transfer> receive(const at::Tensor& into, int from, int tag) = 0;

  void sum(const at::Tensor& tensor) { start_sum(tensor)->wait(); }
};

class Interrupt;

// Makes the groups of one generation. Every member makes the same groups in the same order.
class GroupFactory {
 public:
  // `names` of all ranks, for the messages of PeerLost; without them they speak of ranks.
  GroupFactory(Rendezvous& rendezvous, std::string host, int rank, std::chrono::milliseconds timeout,
               std::vector<std::string> names = {});
  GroupFactory(const GroupFactory&) = delete;
  GroupFactory& operator=(const GroupFactory&) = delete;
  virtual ~GroupFactory() = default;

  // Of all groups that come from here.
  [[nodiscard]] const std::shared_ptr<Interrupt>& interrupt() const { return interrupt_; }

  // For messages between any two, and small sums: always Gloo's, over TCP. Takes tensors of any device.
  [[nodiscard]] std::unique_ptr<Group> make_messages(const std::string& name, const std::vector<int>& ranks);

  // For sums, gathers and maxima of large tensors of the device that the worker computes on: NCCL's on a GPU.
  [[nodiscard]] virtual std::unique_ptr<Group> make(const std::string& name, const std::vector<int>& ranks);

 private:
  enum class Carrier { kGloo, kNccl };
  [[nodiscard]] std::unique_ptr<Group> connected(const std::string& name, const std::vector<int>& ranks,
                                                 Carrier carrier);

  Rendezvous& rendezvous_;
  std::string host_;
  int rank_;
  std::chrono::milliseconds timeout_;
  std::vector<std::string> names_;
  std::shared_ptr<void> device_;  // Gloo's, with its thread: all groups of a worker share it
  std::shared_ptr<Interrupt> interrupt_;
};

}  // namespace sailor::trainer
