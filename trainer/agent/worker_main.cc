#include "trainer/agent/worker_main.h"

#include <csignal>
#include <thread>

#include <unistd.h>

#include "core/log/log.h"
#include "trainer/agent/messages.h"
#include "trainer/elastic/worker/worker.h"
#include "trainer/process/child_process.h"

namespace sailor::trainer {
namespace {

class ChannelReporter : public Reporter {
 public:
  explicit ChannelReporter(Channel& channel) : channel_(channel) {}
  void report(const WorkerReport& worker, const std::optional<JobProgress>& progress) override {
    channel_.send(to_line({worker, progress}));
  }

 private:
  Channel& channel_;
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
  ChannelReporter reporter(channel);
  std::thread reader([&] { read_messages(channel, mailbox); });
  run_worker(settings, mailbox, reporter);
  channel.close_sending();  // the agent has our last report; it closes its end, and the reader ends the process
  reader.join();
}

}  // namespace sailor::trainer
