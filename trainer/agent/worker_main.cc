#include "trainer/agent/worker_main.h"

#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include <unistd.h>

#include "core/log/log.h"
#include "trainer/agent/messages.h"
#include "trainer/elastic/worker/worker.h"
#include "trainer/process/child_process.h"

namespace sailor::trainer {
namespace {

// Sends the reports on a thread of its own, so that training does not wait for an agent that does not read. Of reports
// that wait, a newer one of the same phase replaces the older one.
class ChannelReporter : public Reporter {
 public:
  explicit ChannelReporter(Channel& channel) : channel_(channel), thread_([this] { send_all(); }) {}
  ~ChannelReporter() override {  // waits until all reports are sent
    {
      const std::lock_guard lock(mutex_);
      is_ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void report(const WorkerReport& worker, const std::optional<JobProgress>& progress) override {
    const std::lock_guard lock(mutex_);
    const bool replaces = !waiting_.empty() && waiting_.back().worker.phase == worker.phase &&
                          waiting_.back().worker.generation == worker.generation &&
                          waiting_.back().progress.has_value() == progress.has_value();
    if (replaces) waiting_.pop_back();
    waiting_.push_back({worker, progress});
    changed_.notify_all();
  }

 private:
  void send_all() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return is_ending_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      const std::string line = to_line(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      channel_.send(line);
      lock.lock();
    }
  }

  Channel& channel_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<WorkerMessage> waiting_;
  bool is_ending_ = false;
  std::thread thread_;  // declared last because it uses the other members
};

void read_messages(Channel& channel, AssignmentMailbox& mailbox) {
  while (const auto line = channel.receive()) {
    const auto json = nlohmann::json::parse(*line, nullptr, false);
    if (is_ping(json)) {
      channel.send(ping_line());
      continue;
    }
    if (const auto lease = lease_from(json)) {
      mailbox.renew(*lease);
      continue;
    }
    auto assignment = assignment_from_json(json);
    if (assignment) {
      mailbox.put(*std::move(assignment));
    } else {
      log_error("assignment refused", {{"why", assignment.error().message}});
    }
  }
  ::_exit(0);  // the agent is gone, and the main thread may wait for peers for long
}

}  // namespace

void serve_agent(const WorkerSettings& settings, int descriptor) {
  die_with_parent();              // even if this process is stopped when its agent dies
  std::signal(SIGTERM, SIG_IGN);  // the agent decides when the worker ends
  std::signal(SIGINT, SIG_IGN);
  Channel channel(descriptor);
  AssignmentMailbox mailbox;
  std::thread reader([&] { read_messages(channel, mailbox); });
  {
    ChannelReporter reporter(channel);
    run_worker(settings, mailbox, reporter);
  }
  channel.close_sending();  // the agent has our last report; it closes its end, and the reader ends the process
  reader.join();
}

void report_failure(const WorkerSettings& settings, int descriptor, const std::string& why) {
  die_with_parent();
  Channel channel(descriptor);
  ChannelReporter(channel).report(
      {.gpu = settings.gpu, .phase = WorkerPhase::kFailed, .generation = 0, .step = 0, .message = why}, std::nullopt);
  channel.close_sending();
  while (channel.receive()) {
  }
}

}  // namespace sailor::trainer
