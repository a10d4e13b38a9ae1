// Group: a set of workers that exchange tensors by collectives and messages. It is the interface to every communication
// backend: Gloo between CPUs, NCCL between GPUs.
#pragma once

#include <chrono>
#include <memory>

#include <ATen/core/Tensor.h>

namespace sailor::trainer {

// A collective or message that has been started. This object keeps the tensors alive.
class Work {
 public:
  Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  virtual ~Work() = default;
  virtual void wait() = 0;  // throws as the functions of Group do
};

// All ranks are ranks of the generation, not positions in the group. Every call throws CommunicationError when a member
// is gone or does not respond within the timeout, and CannotCommunicate when this worker itself has failed. Afterwards
// the group cannot be used any more. The functions start_...(), send() and receive() return at once. All members must
// start the same collectives in the same order. The caller must not read or change the tensors until wait() returns.
//
// On a GPU, wait() makes the device wait and not the host, so a failure may be noticed only after it has returned: the
// result is then undefined, and the next call throws.
class Group {
 public:
  Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  virtual ~Group() = default;

  [[nodiscard]] virtual int size() const = 0;

  // Sums the tensor over all members, in place.
  [[nodiscard]] virtual std::unique_ptr<Work> start_all_reduce(const at::Tensor& tensor) = 0;
  // Sums `input` over all members. The sum is divided into as many equal parts as the group has members, and the k-th
  // member receives the k-th part in `output`.
  [[nodiscard]] virtual std::unique_ptr<Work> start_reduce_scatter(const at::Tensor& input,
                                                                   const at::Tensor& output) = 0;
  // Concatenates the `input` of all members, which have equal sizes, in `output`.
  [[nodiscard]] virtual std::unique_ptr<Work> start_all_gather(const at::Tensor& input, const at::Tensor& output) = 0;
  // Takes the maximum of each element over all members, in place.
  virtual void all_reduce_max(const at::Tensor& tensor) = 0;

  // Sends to and receives from one member. In a message group (group_factory.h) a receive gets the message with the
  // same tag, whatever the order in which messages arrive. NCCL ignores tags.
  [[nodiscard]] virtual std::unique_ptr<Work> send(const at::Tensor& tensor, int to, int tag) = 0;
  [[nodiscard]] virtual std::unique_ptr<Work> receive(const at::Tensor& into, int from, int tag) = 0;

  virtual void set_timeout(std::chrono::milliseconds) {}  // applies to calls from now on

  void all_reduce(const at::Tensor& tensor) { start_all_reduce(tensor)->wait(); }
};

}  // namespace sailor::trainer
