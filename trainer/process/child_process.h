// ChildProcess: a process of ours with a channel to it. It dies with the thread that started it, and with this object.
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

  // Waits for its end: "was killed by signal 9". Its id stays its own until this object goes.
  [[nodiscard]] std::string wait_for_end() const;

 private:
  ChildProcess(pid_t pid, std::unique_ptr<Channel> channel) : pid_(pid), channel_(std::move(channel)) {}

  pid_t pid_;
  std::unique_ptr<Channel> channel_;
};

// To be called first thing in a child: from then on it dies with the thread that started it.
void die_with_parent();

}  // namespace sailor::trainer
