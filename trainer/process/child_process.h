// ChildProcess: a process that this program has started, and a channel to it. The destructor kills the process. If the
// process calls die_with_parent(), the kernel also kills it when the thread that started it ends.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "core/model/error.h"
#include "trainer/process/channel.h"

namespace sailor::trainer {

class ChildProcess {
 public:
  // Starts the program with these arguments and `--channel FD`.
  static Result<std::unique_ptr<ChildProcess>> start(const std::string& program, std::vector<std::string> arguments);
  ~ChildProcess();  // kills it and waits for it
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  [[nodiscard]] Channel& channel() { return *channel_; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  void kill() const;

  // Waits until the process has ended and says how: "was killed by signal 9". No other process gets its id before this
  // object is destroyed.
  [[nodiscard]] std::string wait_for_end() const;

 private:
  ChildProcess(pid_t pid, std::unique_ptr<Channel> channel) : pid_(pid), channel_(std::move(channel)) {}

  pid_t pid_;
  std::unique_ptr<Channel> channel_;
};

// The child process calls this function first. From then on the kernel kills it when the thread that started it ends.
void die_with_parent();

}  // namespace sailor::trainer
