// AgentLink: polls the agents of all jobs and sends them their assignments. No function here waits for an answer.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/protocol/assignment.h"
#include "core/protocol/timeouts.h"
#include "operator/model/observation.h"

namespace sailor {

struct AgentTarget {
  std::string pod_uid;
  std::string name;  // name of the pod; an agent with another name has taken over the address
  std::string host;
  int port = 0;
  friend bool operator==(const AgentTarget&, const AgentTarget&) = default;
};

class AgentLink {
 public:
  struct Options {
    std::chrono::milliseconds period{1000};  // between two polls of an agent
    std::chrono::milliseconds quick_period{
        100};  // between polls of an agent that did not answer, or is about to change
    std::chrono::milliseconds timeout = kPollTimeout;  // of a poll
    std::chrono::milliseconds send_timeout = kAgentRequestTimeout;
    Clock clock = system_time;
  };
  // `changed` is called on threads of the link when the view of an agent differs from before. It is not called any more
  // once the destructor has returned.
  AgentLink(Options options, std::function<void(const JobKey&)> changed);
  ~AgentLink();
  AgentLink(const AgentLink&) = delete;
  AgentLink& operator=(const AgentLink&) = delete;

  void follow(const JobKey& job, std::vector<AgentTarget> targets);  // these agents of the job, and no others
  void poll_now(const JobKey& job);                                  // does not wait for the answers
  void send(const JobKey& job, const std::string& pod_uid, std::shared_ptr<const Assignment> assignment);
  void update_callback(const JobKey& job, const std::string& pod_uid, const std::string& callback);
  [[nodiscard]] std::map<std::string, AgentView> views(const JobKey& job) const;

 private:
  struct Shared;  // outlives the link while requests are under way
  void tick(std::stop_token stop);

  std::shared_ptr<Shared> shared_;
  std::jthread ticker_;
};

}  // namespace sailor
