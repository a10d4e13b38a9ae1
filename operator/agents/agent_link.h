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
#include "core/protocol/claim.h"
#include "core/protocol/timeouts.h"
#include "operator/agents/agent_client.h"
#include "operator/model/observation.h"

namespace sailor {

struct AgentTarget {
  std::string pod_uid;
  std::string name;  // the name of the pod; an agent that reports another name or UID has taken over the address
  std::string host;
  int port = 0;
  friend bool operator==(const AgentTarget&, const AgentTarget&) = default;
};

// What is new about an agent: only that its workers have done further steps, or more.
enum class AgentNews { kSteps, kState };

class AgentLink {
 public:
  struct Options {
    std::chrono::milliseconds period{1000};  // the time between two polls of an agent
    // The time between two polls of an agent that did not answer, or whose workers start or prepare.
    std::chrono::milliseconds quick_period{100};
    // The least time between two calls of `changed` for a job of which only the steps have changed. The estimates of
    // the GPUs' speeds need a report each second (operator/stragglers).
    std::chrono::milliseconds steps_period{1000};
    // The same for any two jobs: with more than 250 jobs, each of them has its turn later.
    std::chrono::milliseconds steps_period_of_all{4};
    // The most polls at the same time of agents that have not answered yet. A new operator would open connections to
    // all agents at once, need longer for all of them together than a poll may take, and so begin again with most.
    std::ptrdiff_t first_polls_at_once = 128;
    std::chrono::milliseconds timeout = kPollTimeout;               // the limit for a poll
    std::chrono::milliseconds send_timeout = kAgentRequestTimeout;  // the limit for any other request
    OperatorIdentity identity;                                      // as of AgentClient
    Clock clock = system_time;
    MonotonicClock monotonic = monotonic_time;
  };
  // `changed` is called on threads of the link when the view of an agent differs from before so much that another
  // decision is possible. It is not called any more once the destructor has returned.
  AgentLink(Options options, std::function<void(const JobKey&, AgentNews)> changed);
  ~AgentLink();
  AgentLink(const AgentLink&) = delete;
  AgentLink& operator=(const AgentLink&) = delete;

  // Polls these agents of the job from now on, and no others. Agents that are already followed keep their view.
  void follow(const JobKey& job, std::vector<AgentTarget> targets);
  void poll_now(const JobKey& job);  // polls all agents of the job without waiting for the next period
  // Sends the agent an assignment, unless one of the same or a newer generation is on its way.
  void send(const JobKey& job, const std::string& pod_uid, std::shared_ptr<const Assignment> assignment);
  // Sends the agent the URL of the operator, unless such a message is on its way.
  void update_callback(const JobKey& job, const std::string& pod_uid, const std::string& callback);
  // Asks the agent to claim the checkpoint folder, unless such a message is on its way.
  void claim(const JobKey& job, const std::string& pod_uid, const FolderClaim& claim);
  // Returns the views of the agents of the job, by the UID of the pod.
  [[nodiscard]] std::map<std::string, AgentView> views(const JobKey& job) const;

 private:
  struct Shared;  // the state; it outlives the link while requests are on their way
  void tick(std::stop_token stop);

  std::shared_ptr<Shared> shared_;
  std::jthread ticker_;
};

}  // namespace sailor
