#include "operator/agents/agent_link.h"

#include <algorithm>
#include <condition_variable>

#include "operator/agents/agent_client.h"

namespace sailor {
namespace {

using Instant = std::chrono::steady_clock::time_point;

bool has_broken_worker(const AgentReport& report) {
  return std::ranges::any_of(report.workers,
                             [](const WorkerReport& worker) { return worker.phase == WorkerPhase::kBroken; });
}

// Returns the newest generation that a worker prepares; 0: none does.
std::int64_t prepared_generation(const AgentReport& report) {
  std::int64_t newest = 0;
  for (const WorkerReport& worker : report.workers) {
    if (worker.phase == WorkerPhase::kPreparing) newest = std::max(newest, worker.generation);
  }
  return newest;
}

// Returns whether no worker is about to change its phase without a new assignment.
bool is_settled(const AgentReport& report) {
  return std::ranges::none_of(report.workers, [](const WorkerReport& worker) {
    return worker.phase == WorkerPhase::kStarting || worker.phase == WorkerPhase::kPreparing;
  });
}

}  // namespace

struct AgentLink::Shared : std::enable_shared_from_this<Shared> {
  struct Agent {
    AgentTarget target;
    AgentView view;
    std::shared_ptr<AgentClient> polls;
    std::shared_ptr<AgentClient> sends;
    bool is_polling = false;
    std::int64_t sending = 0;  // the generation of the assignment on its way; 0: none
    bool is_updating = false;  // a callback address is on its way
    Instant due;               // the time of the next poll
  };
  using Agents = std::map<std::string, Agent>;  // by the UID of the pod

  Shared(Options options_given, std::function<void(const JobKey&)> changed_given)
      : options(std::move(options_given)), changed(std::move(changed_given)) {}

  Agent* find(const JobKey& job, const std::string& uid) {
    const auto agents = jobs.find(job);
    if (agents == jobs.end()) return nullptr;
    const auto agent = agents->second.find(uid);
    return agent == agents->second.end() ? nullptr : &agent->second;
  }

  // Stores the result of a request in the view of the agent. Returns whether the view has changed, or may lead to
  // another decision as time passes.
  bool note(Agent& agent, std::optional<AgentReport> report) {
    AgentView& view = agent.view;
    if (report && report->agent != agent.target.name) report.reset();  // another pod has taken over the address
    if (!report) {
      ++view.unanswered_polls;
      if (!view.unanswered_since) view.unanswered_since = options.clock();
      return true;
    }
    const bool is_new = view.unanswered_polls > 0 || view.report != report;
    view.unanswered_polls = 0;
    view.unanswered_since.reset();
    if (!has_broken_worker(*report)) view.broken_since.reset();
    if (has_broken_worker(*report) && !view.broken_since) view.broken_since = options.clock();
    const std::int64_t prepared = prepared_generation(*report);
    if (prepared == 0) view.preparing_since.reset();
    if (prepared > 0 && (!view.report || prepared_generation(*view.report) != prepared))
      view.preparing_since = options.clock();
    view.report = std::move(report);
    return is_new || view.broken_since.has_value();
  }

  void take_poll(const JobKey& job, const std::string& uid, std::optional<AgentReport> report) {
    {
      const std::scoped_lock lock(mutex);
      Agent* agent = find(job, uid);
      if (agent == nullptr || !running) return;
      agent->is_polling = false;
      const bool is_calm = report.has_value() && is_settled(*report);
      agent->due = std::chrono::steady_clock::now() + (is_calm ? options.period : options.quick_period);
      if (!note(*agent, std::move(report))) return;
    }
    notify(job);
  }

  void take_sent(const JobKey& job, const std::string& uid, std::optional<AgentReport> report) {
    {
      const std::scoped_lock lock(mutex);
      Agent* agent = find(job, uid);
      if (agent == nullptr || !running) return;
      agent->sending = 0;
      agent->due = std::chrono::steady_clock::now();  // the next poll shows the effect
      if (report && report->agent == agent->target.name) note(*agent, std::move(report));
      woken = true;
    }
    wake.notify_all();
    notify(job);
  }

  void take_updated(const JobKey& job, const std::string& uid, std::optional<AgentReport> report) {
    const std::scoped_lock lock(mutex);
    Agent* agent = find(job, uid);
    if (agent == nullptr || !running) return;
    agent->is_updating = false;
    if (report && report->agent == agent->target.name) note(*agent, std::move(report));
  }

  // Calls `changed`. Does not hold `mutex`, because the callee may ask for views.
  void notify(const JobKey& job) {
    const std::scoped_lock lock(notifying);
    if (is_notifying) changed(job);
  }

  // Stops all calls of `changed`. Waits for a call that has begun.
  void end() {
    {
      const std::scoped_lock lock(mutex);
      running = false;  // answers that arrive after this are dropped
    }
    const std::scoped_lock lock(notifying);
    is_notifying = false;
  }

  struct Poll {
    JobKey job;
    std::string uid;
    std::shared_ptr<AgentClient> agent;
  };
  std::vector<Poll> due_polls(Instant now) {
    std::vector<Poll> polls;
    for (auto& [job, agents] : jobs) {
      for (auto& [uid, agent] : agents) {
        if (agent.is_polling || agent.due > now) continue;
        agent.is_polling = true;
        polls.push_back({job, uid, agent.polls});
      }
    }
    return polls;
  }
  Instant next_due() const {
    Instant next = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    for (const auto& [job, agents] : jobs) {
      for (const auto& [uid, agent] : agents) {
        if (!agent.is_polling) next = std::min(next, agent.due);
      }
    }
    return next;
  }

  const Options options;
  const std::function<void(const JobKey&)> changed;
  mutable std::mutex mutex;
  std::mutex notifying;
  bool is_notifying = true;
  std::condition_variable_any wake;
  bool running = true;
  bool woken = false;  // a poll is due sooner than the ticker expects
  std::map<JobKey, Agents> jobs;
};

AgentLink::AgentLink(Options options, std::function<void(const JobKey&)> changed)
    : shared_(std::make_shared<Shared>(std::move(options), std::move(changed))),
      ticker_([this](std::stop_token stop) { tick(stop); }) {}

AgentLink::~AgentLink() { shared_->end(); }

void AgentLink::tick(std::stop_token stop) {
  const auto shared = shared_;
  while (!stop.stop_requested()) {
    std::vector<Shared::Poll> polls;
    {
      std::unique_lock lock(shared->mutex);
      shared->wake.wait_until(lock, stop, shared->next_due(), [&] { return shared->woken; });
      shared->woken = false;
      polls = shared->due_polls(std::chrono::steady_clock::now());
    }
    for (const Shared::Poll& poll : polls) {
      poll.agent->poll([shared, job = poll.job, uid = poll.uid](std::optional<AgentReport> report) {
        shared->take_poll(job, uid, std::move(report));
      });
    }
  }
}

void AgentLink::follow(const JobKey& job, std::vector<AgentTarget> targets) {
  {
    const std::scoped_lock lock(shared_->mutex);
    if (targets.empty()) {
      shared_->jobs.erase(job);
      return;
    }
    Shared::Agents& agents = shared_->jobs[job];
    std::erase_if(agents,
                  [&](const auto& agent) { return std::ranges::find(targets, agent.second.target) == targets.end(); });
    for (AgentTarget& target : targets) {
      if (agents.contains(target.pod_uid)) continue;
      Shared::Agent agent;
      agent.polls = std::make_shared<AgentClient>(target.host, target.port, shared_->options.timeout);
      agent.sends = std::make_shared<AgentClient>(target.host, target.port, shared_->options.send_timeout);
      agent.target = target;
      agents.emplace(target.pod_uid, std::move(agent));
      shared_->woken = true;
    }
    if (!shared_->woken) return;
  }
  shared_->wake.notify_all();
}

void AgentLink::poll_now(const JobKey& job) {
  {
    const std::scoped_lock lock(shared_->mutex);
    const auto agents = shared_->jobs.find(job);
    if (agents == shared_->jobs.end()) return;
    for (auto& [uid, agent] : agents->second) agent.due = std::chrono::steady_clock::now();
    shared_->woken = true;
  }
  shared_->wake.notify_all();
}

void AgentLink::send(const JobKey& job, const std::string& pod_uid, std::shared_ptr<const Assignment> assignment) {
  std::shared_ptr<AgentClient> client;
  {
    const std::scoped_lock lock(shared_->mutex);
    Shared::Agent* agent = shared_->find(job, pod_uid);
    if (agent == nullptr || agent->sending >= assignment->generation) return;  // gone, or the assignment is on its way
    agent->sending = assignment->generation;
    client = agent->sends;
  }
  client->assign(*assignment, [shared = shared_, job, pod_uid](std::optional<AgentReport> report) {
    shared->take_sent(job, pod_uid, std::move(report));
  });
}

void AgentLink::update_callback(const JobKey& job, const std::string& pod_uid, const std::string& callback) {
  std::shared_ptr<AgentClient> client;
  {
    const std::scoped_lock lock(shared_->mutex);
    Shared::Agent* agent = shared_->find(job, pod_uid);
    if (agent == nullptr || agent->is_updating) return;
    agent->is_updating = true;
    client = agent->sends;
  }
  client->update_callback(callback, [shared = shared_, job, pod_uid](std::optional<AgentReport> report) {
    shared->take_updated(job, pod_uid, std::move(report));
  });
}

std::map<std::string, AgentView> AgentLink::views(const JobKey& job) const {
  const std::scoped_lock lock(shared_->mutex);
  std::map<std::string, AgentView> views;
  const auto agents = shared_->jobs.find(job);
  if (agents == shared_->jobs.end()) return views;
  for (const auto& [uid, agent] : agents->second) views[uid] = agent.view;
  return views;
}

}  // namespace sailor
