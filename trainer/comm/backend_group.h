// BackendGroup: a Group over one of LibTorch's communication backends. This class is the same for Gloo and NCCL;
// group_factory.cc makes the backends.
#pragma once

#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "trainer/comm/communication_error.h"
#include "trainer/comm/group.h"
#include "trainer/comm/interrupt.h"

namespace sailor::trainer {

// Returns the first line of a backend's error message, without the source location at its beginning.
std::string first_line(const std::string& text);

// Runs an action of a backend. Throws its exceptions as CommunicationError with a message of one line.
template <class Action>
auto translate_errors(const std::string& doing, Action action) {
  try {
    return action();
  } catch (const std::exception& error) {
    throw CommunicationError(doing + ": " + first_line(error.what()));
  }
}

struct Member {
  int rank = 0;
  std::string name;
};

// A backend that has connected the members, and a function that ends the waits in it from another thread. It need not
// end every wait for a message if messages can be aborted one by one, by c10d::Work::abort().
struct Connection {
  c10::intrusive_ptr<c10d::Backend> backend;
  std::function<void()> abort;
  bool aborts_single_messages = false;
};

class MessagesUnderWay;

class BackendGroup : public Group {
 public:
  BackendGroup(const std::string& name, std::vector<Member> members, Connection connection,
               std::chrono::milliseconds timeout, std::shared_ptr<Interrupt> interrupt);
  ~BackendGroup() override;

  [[nodiscard]] int size() const override { return static_cast<int>(members_.size()); }
  std::unique_ptr<Work> start_all_reduce(const at::Tensor& tensor) override;
  std::unique_ptr<Work> start_reduce_scatter(const at::Tensor& input, const at::Tensor& output) override;
  std::unique_ptr<Work> start_all_gather(const at::Tensor& input, const at::Tensor& output) override;
  void all_reduce_max(const at::Tensor& tensor) override;
  void set_timeout(std::chrono::milliseconds timeout) override;
  std::unique_ptr<Work> send(const at::Tensor& tensor, int to, int tag) override;
  std::unique_ptr<Work> receive(const at::Tensor& into, int from, int tag) override;

 private:
  [[nodiscard]] std::unique_ptr<Work> message(std::string doing, const at::Tensor& tensor,
                                              c10::intrusive_ptr<c10d::Work> work) const;
  [[nodiscard]] int index_of(int rank) const;
  [[nodiscard]] const std::string& name_of(int rank) const;

  std::string description_;  // the group's name, with its members' names if they are few
  std::vector<Member> members_;
  c10::intrusive_ptr<c10d::Backend> backend_;
  std::chrono::milliseconds timeout_;  // timeout of messages; the backend has that of collectives
  std::shared_ptr<Interrupt> interrupt_;
  std::shared_ptr<MessagesUnderWay> messages_;  // null if the backend does not abort single messages
};

}  // namespace sailor::trainer
