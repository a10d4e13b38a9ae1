// BackendGroup: a Group over one of LibTorch's communication backends. This class is the same for Gloo and NCCL;
// group_factory.cc connects the backends.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "trainer/comm/collective_watch.h"
#include "trainer/comm/group.h"
#include "trainer/comm/interrupt.h"

namespace sailor::trainer {

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
  std::shared_ptr<CollectiveWatch> watch = {};  // null: the backend itself reports timeouts and errors of collectives
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
  using Tensors = std::vector<at::Tensor>;
  using Start = std::function<c10::intrusive_ptr<c10d::Work>(Tensors& tensors)>;
  [[nodiscard]] std::unique_ptr<Work> collective(const char* kind, Tensors tensors, const Start& start);
  [[nodiscard]] std::unique_ptr<Work> message(std::string doing, const at::Tensor& tensor, const Start& start);
  [[nodiscard]] int index_of(int rank) const;
  [[nodiscard]] const std::string& name_of(int rank) const;

  std::string description_;  // the group's name, with its members' names if they are few
  std::vector<Member> members_;
  c10::intrusive_ptr<c10d::Backend> backend_;
  std::chrono::milliseconds timeout_;  // a backend without a watch has that of collectives itself
  std::shared_ptr<Interrupt> interrupt_;
  std::shared_ptr<CollectiveWatch> watch_;      // null: Connection::watch
  std::shared_ptr<MessagesUnderWay> messages_;  // null if the backend does not abort single messages
};

}  // namespace sailor::trainer
