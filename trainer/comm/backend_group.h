// BackendGroup: a Group over any of LibTorch's backends of communication. Gloo and NCCL differ in how they are made.
#pragma once

#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "trainer/comm/group.h"
#include "trainer/comm/interrupt.h"
#include "trainer/comm/peer_lost.h"

namespace sailor::trainer {

// The first line of what a backend says, without the place in its sources that it begins with.
std::string first_line(const std::string& text);

// Runs what a backend does and gives its failures our type and one line.
template <class Action>
auto guarded(const std::string& doing, Action action) {
  try {
    return action();
  } catch (const std::exception& error) {
    throw PeerLost(doing + ": " + first_line(error.what()));
  }
}

struct Member {
  int rank = 0;
  std::string name;
};

// A backend that has connected the members, and what ends from another thread all that anybody waits for in it.
struct Connection {
  c10::intrusive_ptr<c10d::Backend> backend;
  std::function<void()> break_off;
};

class BackendGroup : public Group {
 public:
  BackendGroup(const std::string& name, std::vector<Member> members, Connection connection,
               std::chrono::milliseconds timeout, std::shared_ptr<Interrupt> interrupt);
  ~BackendGroup() override;

  [[nodiscard]] int size() const override { return static_cast<int>(members_.size()); }
  std::unique_ptr<Transfer> start_sum(const at::Tensor& tensor) override;
  std::unique_ptr<Transfer> start_sum_of_parts(const at::Tensor& parts, const at::Tensor& mine) override;
  std::unique_ptr<Transfer> start_gather(const at::Tensor& mine, const at::Tensor& parts) override;
  void max(const at::Tensor& tensor) override;
  void set_timeout(std::chrono::milliseconds timeout) override;
  std::unique_ptr<Transfer> send(const at::Tensor& tensor, int to, int tag) override;
  std::unique_ptr<Transfer> receive(const at::Tensor& into, int from, int tag) override;

 private:
  [[nodiscard]] int index_of(int rank) const;

  std::string name_;  // of the group, with its members' names where they are few
  std::vector<Member> members_;
  c10::intrusive_ptr<c10d::Backend> backend_;
  std::chrono::milliseconds timeout_;  // of messages between two members
  std::shared_ptr<Interrupt> interrupt_;
};

}  // namespace sailor::trainer
