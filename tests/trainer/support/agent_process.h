// AgentProcess: a real `sailor-trainer agent` on a loopback address of its own. Ended with the object, by its id.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "core/protocol/agent_report.h"
#include "core/protocol/assignment.h"

namespace sailor::trainer::testing {

class AgentProcess {
 public:
  explicit AgentProcess(const std::filesystem::path& folder, std::vector<std::string> more = {}, int gpus = 1,
                        std::string host = "");  // empty: an address of its own
  ~AgentProcess();
  AgentProcess(const AgentProcess&) = delete;
  AgentProcess& operator=(const AgentProcess&) = delete;

  [[nodiscard]] AgentAddress address() const;
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] std::vector<pid_t> workers() const;  // their process ids

  void wait_until_ready() const;
  void wait_for_log(const std::string& text) const;  // for agents that answer no plain HTTP
  int put(const Assignment& assignment) const;       // the answer's status
  [[nodiscard]] AgentReport report() const;
  AgentReport wait_until(const std::function<bool(const AgentReport&)>& is_so) const;

  void signal(int number) const;
  int wait_for_exit();  // its status; -n if signal n ended it
  [[nodiscard]] std::string termination_report() const;
  [[nodiscard]] std::string log() const;

 private:
  std::filesystem::path folder_;
  std::string name_;
  std::string host_;
  int gpus_;
  pid_t pid_ = 0;
};

}  // namespace sailor::trainer::testing
