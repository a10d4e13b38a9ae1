#include "trainer/agent/agent.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <fstream>
#include <mutex>

#include <fmt/format.h>
#include <pthread.h>

#include "core/log/log.h"
#include "core/net/http_server.h"
#include "core/protocol/claim.h"
#include "core/protocol/credentials.h"
#include "core/protocol/endpoints.h"
#include "core/protocol/exit_status.h"
#include "core/protocol/limits.h"
#include "core/protocol/message.h"
#include "trainer/agent/agent_credentials.h"
#include "trainer/agent/agent_state.h"
#include "trainer/agent/hint_sender.h"
#include "trainer/agent/lease_keeper.h"
#include "trainer/agent/peer_watch.h"
#include "trainer/agent/worker_process.h"
#include "trainer/checkpoint/folder_claims.h"
#include "trainer/checkpoint/folders.h"
#include "trainer/comm/rendezvous.h"

namespace sailor::trainer {
namespace {

net::HttpAnswer bad_request(const Error& error) { return net::json_answer(400, {{"error", error.message}}); }

class Agent {
 public:
  // `credentials` may be null.
  Agent(const AgentSettings& settings, AgentCredentials* credentials)
      : settings_(settings), credentials_(credentials), state_(settings.name, settings.gpus, settings.pod_uid) {}

  Result<int> run() {
    auto store = RendezvousServer::listen(settings_.host, settings_.store_port);
    if (!store) return tl::unexpected(store.error());
    store_ = *std::move(store);
    // Workers start before the first request is answered, because only workers that exist get an assignment.
    if (auto started = start_workers(); !started) return tl::unexpected(started.error());
    auto server = net::HttpServer::listen(net::address_of(settings_.host, settings_.port), routes(), server_settings());
    if (!server) return tl::unexpected(std::move(server).error().within("serving the operator"));
    log_info("agent ready", {{"host", settings_.host}, {"gpus", std::to_string(settings_.gpus)}});
    const int status = wait_for_end();
    end_workers();
    if (status != kExitDone) offer_last_report(status);
    write_termination_report();
    server->reset();
    return status;
  }

  void terminate() {
    change([&] { state_.note_termination(); });
  }

 private:
  Result<void> start_workers() {
    const std::lock_guard lock(mutex_);
    for (int gpu = 0; gpu < settings_.gpus; ++gpu) {
      auto worker =
          WorkerProcess::start(settings_.program, worker_arguments(gpu), settings_.peer_timeout, events_of(gpu));
      if (!worker) return tl::unexpected(worker.error());
      workers_.push_back(*std::move(worker));
    }
    return {};
  }

  // The workers end after the lock is released, because their last reports take the lock. (`ending` is declared first,
  // so it is destroyed last.)
  void end_workers() {
    std::vector<std::unique_ptr<WorkerProcess>> ending;
    const std::lock_guard lock(mutex_);
    ending.swap(workers_);
  }

  [[nodiscard]] std::vector<std::string> worker_arguments(int gpu) const {
    return {"worker",
            "--agent",
            settings_.name,
            "--host",
            settings_.host,
            "--gpu",
            std::to_string(gpu),
            "--threads",
            std::to_string(settings_.threads),
            "--device",
            settings_.device,
            "--peer-timeout",
            std::to_string(settings_.peer_timeout.count())};
  }

  WorkerEvents events_of(int gpu) {
    return {.on_report =
                [this](const WorkerReport& worker, const std::optional<JobProgress>& progress) {
                  change([&] { note(worker, progress); });
                  if (worker.phase == WorkerPhase::kTraining) note_training(worker.generation);
                },
            .on_end = [this, gpu](const std::string& how) { change([&] { note_end(gpu, how); }); },
            .on_unresponsive = [this, gpu] { change([&] { state_.note_unresponsive_worker(gpu); }); }};
  }

  void note(const WorkerReport& worker, const std::optional<JobProgress>& progress) {
    const WorkerReport before = state_.report().workers.at(static_cast<std::size_t>(worker.gpu));
    state_.note(worker, progress);
    const bool is_news = before.phase != worker.phase || before.generation != worker.generation;
    if (!is_news && before.message == worker.message) return;
    log_info("worker", {{"gpu", std::to_string(worker.gpu)},
                        {"phase", std::string(to_string(worker.phase))},
                        {"generation", std::to_string(worker.generation)},
                        {"message", worker.message}});
  }

  // An agent that is about to end ends its workers, which is no failure of theirs.
  void note_end(int gpu, const std::string& how) {
    if (!last_report_) state_.note_end_of_worker(gpu, how);
  }

  // Called when a worker of this pod trains in the generation. Then all workers of the generation have confirmed that
  // they have their state, so pods that leave need not be watched any more.
  void note_training(std::int64_t generation) {
    if (std::int64_t known = confirmed_; known >= generation || !confirmed_.compare_exchange_strong(known, generation))
      return;
    std::unique_lock lock(mutex_);
    if (assignment_.generation == generation) watch_peers(true);
    lock.unlock();
    leases_.forget_before(generation);
    forget_before(generation);
  }

  // Deletes the keys of older generations from the rendezvous store, because no worker reads them any more. The
  // function does not hold the lock, because the operator's requests need it.
  void forget_before(std::int64_t generation) {
    const auto left = store_->delete_generations_before(job_uid(), generation);
    const std::string outcome = left ? std::to_string(*left) : left.error().message;
    log_info("older generations forgotten", {{"generation", std::to_string(generation)}, {"keys_left", outcome}});
  }

  std::string job_uid() {
    const std::lock_guard lock(mutex_);
    return state_.job_uid();
  }

  [[nodiscard]] net::HttpServerSettings server_settings() const {
    net::HttpServerSettings settings{.largest_body = kLargestAssignment};
    if (credentials_ != nullptr) settings.tls = [this] { return credentials_->server(); };
    return settings;
  }

  // Everybody may ask whether the agent lives: the kubelet does, and so do the other agents of the job.
  std::vector<net::Route> routes() {
    const std::string who = credentials_ == nullptr ? "" : operator_uri();
    return {{"GET", std::string(kHealthPath),
             [](const auto&) {
               return net::json_answer(200, {{"status", "ok"}});
             }},
            {"GET", std::string(kStatePath), [this](const auto&) { return answer_operator(); }, who},
            {"PUT", std::string(kAssignmentPath), [this](const auto& call) { return take_assignment(call.body); }, who},
            {"PUT", std::string(kCallbackPath), [this](const auto& call) { return take_callback(call.body); }, who},
            {"PUT", std::string(kClaimPath), [this](const auto& call) { return take_claim(call.body); }, who}};
  }

  void note_callback(const std::string& url) {
    state_.note_callback(url);
    leases_.set_callback(state_.report().callback);
    hints_.set_callback(state_.report().callback);
  }

  // An operator that has restarted has another address than the newest assignment says.
  net::HttpAnswer take_callback(const std::string& body) {
    const auto address = read_message(body, "a callback address").and_then(callback_address_from_json);
    if (!address) return bad_request(address.error());
    const std::lock_guard lock(mutex_);
    note_callback(address->url);
    return net::json_answer(200, to_json(state_.report()));
  }

  // A slow file system must not hold up other requests, so the function does not hold the lock while it claims, and
  // only one claim at a time occupies a thread of the server.
  net::HttpAnswer take_claim(const std::string& body) {
    const auto claim = read_message(body, "a claim").and_then(folder_claim_from_json);
    if (!claim) return bad_request(claim.error());
    if (const std::string uid = job_uid(); !uid.empty() && uid != claim->job_uid)
      return bad_request({ErrorCode::kInvalidArgument, "the agent belongs to another job"});
    const auto folder = checkpoint_folder(claim->path, claim->job, claim->job_uid);
    const std::unique_lock claiming(claiming_, std::try_to_lock);
    if (!claiming) return refuse_claim(*claim);
    const auto claimed = supersede_claim(folder, claim->older_generation, claim->generation);
    const std::lock_guard lock(mutex_);
    state_.note_claim(claim->older_generation, claimed);
    return net::json_answer(200, to_json(state_.report()));
  }

  // Refuses a claim while the file system has not finished the one before.
  net::HttpAnswer refuse_claim(const FolderClaim& claim) {
    const Error error{ErrorCode::kUnavailable,
                      fmt::format("superseding the claim of generation {}: {} does not answer; check the volume of "
                                  "checkpoint.path",
                                  claim.older_generation, claim.path)};
    const std::lock_guard lock(mutex_);
    state_.note_claim(claim.older_generation, tl::unexpected(error));
    return net::json_answer(kStatusRetry, {{"error", error.message}});
  }

  net::HttpAnswer take_assignment(const std::string& body) {
    const auto assignment = read_message(body, "an assignment").and_then(assignment_from_json);
    if (!assignment) return bad_request(assignment.error());
    const std::lock_guard lock(mutex_);
    if (last_report_) return net::json_answer(kStatusRetry, {{"error", "the agent is about to end"}});
    if (const auto taken = state_.take(*assignment); !taken) {
      if (taken.error().code == ErrorCode::kConflict)
        return net::json_answer(kStatusConflict, to_json(state_.report()));
      return bad_request(taken.error());
    }
    note_callback(assignment->callback);
    assignment_ = *assignment;
    log_info("assignment taken", {{"generation", std::to_string(assignment->generation)}});
    for (const auto& worker : workers_) worker->assign(*assignment);
    leases_.keep(*assignment);
    watch_peers(false);
    return net::json_answer(200, to_json(state_.report()));
  }

  void watch_peers(bool has_begun) {
    const auto peers = peers_to_watch(assignment_, settings_.name, has_begun);
    for (std::size_t i = 0; i < watches_.size(); ++i) watches_[i].watch(assignment_.generation, peers[i]);
  }

  PeerWatch new_watch() {
    return {settings_.peer_timeout, credentials_, [this](const auto& news) { note(news); }};
  }

  void note(const WatchedPeers::News& news) {
    if (!news.is_unresponsive) log_info("peer answers again", {{"pod", news.pod}});
    change([&] { state_.note_peer(news.generation, news.pod, news.is_unresponsive); });
  }

  net::HttpAnswer answer_operator() {
    const std::lock_guard lock(mutex_);
    if (credentials_ != nullptr) state_.note_credentials(credentials_->expiry());
    const AgentReport& report = last_report_ ? *last_report_ : state_.report();
    last_report_is_read_ = report.exit_status.has_value();
    if (last_report_is_read_) changed_.notify_all();
    return net::json_answer(200, to_json(report));
  }

  // Changes the state, then sends the hints that follow from the change.
  template <class Change>
  void change(Change apply) {
    const std::lock_guard lock(mutex_);
    apply();
    for (const Hint& hint : state_.take_hints()) {
      log_info("hint", {{"reason", std::string(to_string(hint.reason))}, {"message", hint.message}});
      hints_.send(hint);
    }
    changed_.notify_all();
  }

  int wait_for_end() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return state_.exit_status().has_value(); });
    last_report_ = state_.report();
    return *state_.exit_status();  // NOLINT(bugprone-unchecked-optional-access): set, because the wait has ended
  }

  // Tells the operator that a worker has failed, before the agent stops answering.
  void offer_last_report(int status) {
    std::unique_lock lock(mutex_);
    AgentReport& report = last_report_.value();
    report.exit_status = status;
    log_info("a worker has failed, so the agent ends", {{"exit_status", std::to_string(status)}});
    if (report.callback.empty()) return;  // no operator has spoken to this agent
    changed_.wait_for(lock, kLastReportLimit, [&] { return last_report_is_read_; });
  }

  // Kubernetes copies the termination log to the status of the pod. The operator finds the report there even if it did
  // not run when this process ended.
  void write_termination_report() {
    const std::lock_guard lock(mutex_);
    const std::string text = write_message(to_json(last_report_.value()));
    std::ofstream stream(settings_.termination_log, std::ios::trunc);
    if (stream) stream << text << std::flush;
    if (!stream) log_info("no termination log", {{"path", settings_.termination_log.string()}, {"report", text}});
  }

  const AgentSettings& settings_;
  AgentCredentials* const credentials_;
  std::unique_ptr<RendezvousServer> store_;
  std::atomic<std::int64_t> confirmed_ = 0;  // the newest generation that a worker here has trained in
  std::mutex mutex_;
  std::mutex claiming_;  // held while a claim is written
  std::condition_variable changed_;
  AgentState state_;
  std::optional<AgentReport> last_report_;  // set once the agent is about to end
  bool last_report_is_read_ = false;
  Assignment assignment_;  // the newest accepted assignment
  HintSender hints_{credentials_, [this] { change([&] { state_.note_dismissal(); }); }};
  std::vector<std::unique_ptr<WorkerProcess>> workers_;
  LeaseKeeper leases_{credentials_, [this](const Lease& lease) {
                        const std::lock_guard lock(mutex_);
                        for (const auto& worker : workers_) worker->renew(lease);
                      }};
  std::array<PeerWatch, kWatches> watches_{new_watch(), new_watch(), new_watch()};
};

// Waits for SIGTERM or SIGINT on a thread of its own. Ends with SIGUSR1, sent by its destructor.
class SignalThread {
 public:
  explicit SignalThread(Agent& agent)
      : thread_([&agent] {
          sigset_t signals;
          sigemptyset(&signals);
          for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) sigaddset(&signals, signal);
          int signal = 0;
          while (sigwait(&signals, &signal) == 0 && signal != SIGUSR1) agent.terminate();
        }) {}
  ~SignalThread() {
    pthread_kill(thread_.native_handle(), SIGUSR1);
    thread_.join();
  }
  SignalThread(const SignalThread&) = delete;
  SignalThread& operator=(const SignalThread&) = delete;

 private:
  std::thread thread_;
};

}  // namespace

Result<int> run_agent(const AgentSettings& settings) {
  std::unique_ptr<AgentCredentials> credentials;
  if (!settings.credentials.empty()) {
    auto read = AgentCredentials::read(settings.credentials);
    if (!read) return tl::unexpected(std::move(read).error());
    credentials = *std::move(read);
  }
  Agent agent(settings, credentials.get());
  const SignalThread signals(agent);
  return agent.run();
}

}  // namespace sailor::trainer
