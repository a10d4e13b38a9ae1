#include "operator/agents/agent_link.h"

#include <algorithm>
#include <condition_variable>
#include <utility>

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

// Returns the report without what changes with every step or probe.
AgentReport without_steps(AgentReport report) {
  for (WorkerReport& worker : report.workers) {
    worker.step = 0;
    worker.microbatch_seconds.reset();
    worker.probe_seconds.reset();
  }
  if (report.progress) {
    report.progress = JobProgress{.generation = report.progress->generation, .times = report.progress->times};
  }
  return report;
}

// Returns whether the report stays as it is without a new assignment. It does not if a worker starts or prepares, or
// has failed, because the agent then tells its exit status, once.
bool is_settled(const AgentReport& report) {
  return std::ranges::none_of(report.workers, [](const WorkerReport& worker) {
    return worker.phase == WorkerPhase::kStarting || worker.phase == WorkerPhase::kPreparing ||
           worker.phase == WorkerPhase::kFailed;
  });
}

// An agent that does not know the UID of its pod is identified by its name alone.
bool is_of(const AgentReport& report, const AgentTarget& target) {
  return report.agent == target.name && (report.pod_uid.empty() || report.pod_uid == target.pod_uid);
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
    bool is_claiming = false;  // a claim is on its way
    bool has_failed = false;   // a request failed since the last poll; it may be repeated after the next one
    Instant due;               // the time of the next poll
  };
  using Agents = std::map<std::string, Agent>;  // by the UID of the pod
  struct Job {
    Agents agents;
    Instant steps_told;  // when a change of the steps alone was last worth a call of `changed`
  };

  Shared(Options options_given, std::function<void(const JobKey&, AgentNews)> changed_given)
      : options(std::move(options_given)), changed(std::move(changed_given)) {}

  Job* find(const JobKey& key) {
    const auto job = jobs.find(key);
    return job == jobs.end() ? nullptr : &job->second;
  }

  static Agent* find(Job* job, const std::string& uid) {
    if (job == nullptr) return nullptr;
    const auto agent = job->agents.find(uid);
    return agent == job->agents.end() ? nullptr : &agent->second;
  }

  // Stores the result of a request in the view of the agent. Returns what is new, if the view has changed or may lead
  // to another decision as time passes.
  std::optional<AgentNews> note(Job& job, Agent& agent, std::optional<AgentReport> report) {
    AgentView& view = agent.view;
    if (report && !is_of(*report, agent.target)) report.reset();  // another pod has taken over the address
    if (report) view.answered_at = options.monotonic();
    if (!report) {
      ++view.unanswered_polls;
      if (!view.unanswered_since) view.unanswered_since = options.clock();
      return view.unanswered_polls <= kHighestPollCount ? std::optional(AgentNews::kState) : std::nullopt;
    }
    auto news = view.unanswered_polls > 0 || !view.report ? std::optional(AgentNews::kState)
                                                          : news_between(job, *view.report, *report);
    view.unanswered_polls = 0;
    view.unanswered_since.reset();
    if (!has_broken_worker(*report)) view.broken_since.reset();
    if (has_broken_worker(*report) && !view.broken_since) view.broken_since = options.clock();
    const std::int64_t prepared = prepared_generation(*report);
    if (prepared == 0) view.preparing_since.reset();
    if (prepared > 0 && (!view.report || prepared_generation(*view.report) != prepared))
      view.preparing_since = options.clock();
    view.report = std::move(report);
    return view.broken_since ? std::optional(AgentNews::kState) : news;
  }

  // Returns what a report says beyond the one before. Steps are news after a while.
  std::optional<AgentNews> news_between(Job& job, const AgentReport& before, const AgentReport& report) const {
    if (report == before) return std::nullopt;
    if (without_steps(report) != without_steps(before)) return AgentNews::kState;
    const Instant now = std::chrono::steady_clock::now();
    const auto turn = options.steps_period_of_all * std::ssize(jobs);
    if (now - job.steps_told < std::max<std::chrono::milliseconds>(options.steps_period, turn)) return std::nullopt;
    job.steps_told = now;
    return AgentNews::kSteps;
  }

  void take_poll(const JobKey& key, const std::string& uid, bool was_first, AgentAnswer answer) {
    auto news = AgentNews::kState;
    {
      const std::scoped_lock lock(mutex);
      if (was_first) {
        if (!may_ask_another()) wake_ticker();
        --first_polls;
      }
      Job* job = find(key);
      Agent* agent = find(job, uid);
      if (agent == nullptr || !running) return;
      agent->is_polling = false;
      const bool is_calm = answer.report && is_settled(*answer.report);
      agent->due = std::chrono::steady_clock::now() + (is_calm ? options.period : options.quick_period);
      if (agent->due < ticker_wakes_at) wake_ticker();
      const bool may_repeat = std::exchange(agent->has_failed, false);
      const bool is_other_fault = std::exchange(agent->view.tls_fault, answer.tls_fault) != answer.tls_fault;
      const auto noted = note(*job, *agent, std::move(answer.report));
      if (!noted && !may_repeat && !is_other_fault) return;
      if (noted && !may_repeat && !is_other_fault) news = *noted;
    }
    notify(key, news);
  }

  // Returns the client for a request to the agent; nothing if the agent is gone, or such a request is on its way.
  // `mark` notes that one is on its way, and returns false if one was.
  std::shared_ptr<AgentClient> begin(const JobKey& key, const std::string& uid,
                                     const std::function<bool(Agent&)>& mark) {
    const std::scoped_lock lock(mutex);
    Agent* agent = find(find(key), uid);
    return agent != nullptr && mark(*agent) ? agent->sends : nullptr;
  }

  // Returns what takes the answer of a request. `release` notes that it is no longer on its way.
  AnswerSink answer_to(const JobKey& key, const std::string& uid, void (*release)(Agent&)) {
    return [shared = shared_from_this(), key, uid, release](AgentAnswer answer) {
      shared->take_answer(key, uid, release, std::move(answer));
    };
  }

  // A request that failed is not news: `changed` would lead to the same request at once, as fast as the agent refuses.
  void take_answer(const JobKey& key, const std::string& uid, void (*release)(Agent&), AgentAnswer answer) {
    {
      const std::scoped_lock lock(mutex);
      Job* job = find(key);
      Agent* agent = find(job, uid);
      if (agent == nullptr || !running) return;
      release(*agent);
      agent->has_failed = !answer.report || !is_of(*answer.report, agent->target);
      agent->view.refusal = std::move(answer.refusal);
      // The next poll shows the effect.
      agent->due = std::chrono::steady_clock::now() + (agent->has_failed ? options.quick_period : Instant::duration(0));
      wake_ticker();
      if (agent->has_failed) return;
      note(*job, *agent, std::move(answer.report));
    }
    notify(key, AgentNews::kState);
  }

  void wake_ticker() {
    woken = true;
    wake.notify_all();
  }

  // Calls `changed`. Does not hold `mutex`, because the callee may ask for views.
  void notify(const JobKey& job, AgentNews news) {
    const std::scoped_lock lock(notifying);
    if (is_notifying) changed(job, news);
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
    bool is_first = false;  // the agent has not answered yet
  };
  std::vector<Poll> due_polls(Instant now) {
    std::vector<Poll> polls;
    std::vector<std::pair<Poll, Agent*>> firsts;
    for (auto& [key, job] : jobs) {
      for (auto& [uid, agent] : job.agents) {
        if (agent.is_polling || agent.due > now) continue;
        Poll poll{key, uid, agent.polls, !agent.view.report};
        if (poll.is_first) {
          firsts.emplace_back(std::move(poll), &agent);
        } else {
          agent.is_polling = true;
          polls.push_back(std::move(poll));
        }
      }
    }
    // In the order of their times, so that agents that never answer do not go before those that were not asked yet.
    std::ranges::stable_sort(firsts, {}, [](const auto& first) { return first.second->due; });
    for (auto& [poll, agent] : firsts) {
      if (!may_ask_another()) break;
      ++first_polls;
      agent->is_polling = true;
      polls.push_back(std::move(poll));
    }
    return polls;
  }
  bool may_ask_another() const { return first_polls < options.first_polls_at_once; }
  Instant next_due() const {
    Instant next = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    for (const auto& [key, job] : jobs) {
      for (const auto& [uid, agent] : job.agents) {
        const bool may_poll = !agent.is_polling && (agent.view.report || may_ask_another());
        if (may_poll) next = std::min(next, agent.due);
      }
    }
    return next;
  }

  const Options options;
  const std::function<void(const JobKey&, AgentNews)> changed;
  mutable std::mutex mutex;
  std::mutex notifying;
  bool is_notifying = true;
  std::condition_variable_any wake;
  bool running = true;
  bool woken = false;  // a poll is due sooner than the ticker expects
  Instant ticker_wakes_at;
  std::ptrdiff_t first_polls = 0;  // on their way to agents that have not answered yet
  std::map<JobKey, Job> jobs;
};

AgentLink::AgentLink(Options options, std::function<void(const JobKey&, AgentNews)> changed)
    : shared_(std::make_shared<Shared>(std::move(options), std::move(changed))),
      ticker_([this](std::stop_token stop) { tick(stop); }) {}

AgentLink::~AgentLink() { shared_->end(); }

void AgentLink::tick(std::stop_token stop) {
  const auto shared = shared_;
  while (!stop.stop_requested()) {
    std::vector<Shared::Poll> polls;
    {
      std::unique_lock lock(shared->mutex);
      shared->ticker_wakes_at = shared->next_due();
      shared->wake.wait_until(lock, stop, shared->ticker_wakes_at, [&] { return shared->woken; });
      shared->woken = false;
      polls = shared->due_polls(std::chrono::steady_clock::now());
    }
    for (const Shared::Poll& poll : polls) {
      poll.agent->poll([shared, job = poll.job, uid = poll.uid, is_first = poll.is_first](AgentAnswer answer) {
        shared->take_poll(job, uid, is_first, std::move(answer));
      });
    }
  }
}

void AgentLink::follow(const JobKey& job, std::vector<AgentTarget> targets) {
  const std::scoped_lock lock(shared_->mutex);
  if (targets.empty()) {
    shared_->jobs.erase(job);
    return;
  }
  Shared::Agents& agents = shared_->jobs[job].agents;
  std::erase_if(agents,
                [&](const auto& agent) { return std::ranges::find(targets, agent.second.target) == targets.end(); });
  for (AgentTarget& target : targets) {
    if (agents.contains(target.pod_uid)) continue;
    Shared::Agent agent;
    const AgentPlace place{job, target.host, target.port};
    const Options& options = shared_->options;
    agent.polls = std::make_shared<AgentClient>(place, options.timeout, options.identity);
    agent.sends = std::make_shared<AgentClient>(place, options.send_timeout, options.identity);
    agent.target = target;
    agents.emplace(target.pod_uid, std::move(agent));
    shared_->wake_ticker();
  }
}

void AgentLink::poll_now(const JobKey& job) {
  const std::scoped_lock lock(shared_->mutex);
  Shared::Job* followed = shared_->find(job);
  if (followed == nullptr) return;
  for (auto& [uid, agent] : followed->agents) agent.due = std::chrono::steady_clock::now();
  shared_->wake_ticker();
}

void AgentLink::send(const JobKey& job, const std::string& pod_uid, std::shared_ptr<const Assignment> assignment) {
  const auto client = shared_->begin(job, pod_uid, [&](Shared::Agent& agent) {
    if (agent.sending >= assignment->generation) return false;
    agent.sending = assignment->generation;
    return true;
  });
  if (client == nullptr) return;
  client->assign(*assignment, shared_->answer_to(job, pod_uid, [](Shared::Agent& agent) { agent.sending = 0; }));
}

void AgentLink::update_callback(const JobKey& job, const std::string& pod_uid, const std::string& callback) {
  const auto client =
      shared_->begin(job, pod_uid, [](Shared::Agent& agent) { return !std::exchange(agent.is_updating, true); });
  if (client == nullptr) return;
  client->update_callback(callback,
                          shared_->answer_to(job, pod_uid, [](Shared::Agent& agent) { agent.is_updating = false; }));
}

void AgentLink::claim(const JobKey& job, const std::string& pod_uid, const FolderClaim& claim) {
  const auto client =
      shared_->begin(job, pod_uid, [](Shared::Agent& agent) { return !std::exchange(agent.is_claiming, true); });
  if (client == nullptr) return;
  client->claim(claim, shared_->answer_to(job, pod_uid, [](Shared::Agent& agent) { agent.is_claiming = false; }));
}

std::map<std::string, AgentView> AgentLink::views(const JobKey& job) const {
  const std::scoped_lock lock(shared_->mutex);
  std::map<std::string, AgentView> views;
  const Shared::Job* followed = shared_->find(job);
  if (followed == nullptr) return views;
  for (const auto& [uid, agent] : followed->agents) views[uid] = agent.view;
  return views;
}

}  // namespace sailor
