#include "trainer/agent/worker_process.h"

#include "core/log/log.h"
#include "trainer/agent/messages.h"

namespace sailor::trainer {

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::start(const std::string& program,
                                                            std::vector<std::string> arguments,
                                                            std::chrono::milliseconds timeout, WorkerEvents events) {
  auto child = ChildProcess::start(program, std::move(arguments));
  if (!child) return tl::unexpected(child.error());
  return std::unique_ptr<WorkerProcess>(new WorkerProcess(*std::move(child), timeout, std::move(events)));
}

WorkerProcess::WorkerProcess(std::unique_ptr<ChildProcess> child, std::chrono::milliseconds timeout,
                             WorkerEvents events)
    : child_(std::move(child)),
      events_(std::move(events)),
      reader_([this] { read_reports(); }),
      probing_(MissedProbes::period_of(timeout), [this] { probe(); }) {}

WorkerProcess::~WorkerProcess() {
  child_->kill();
  reader_.join();
}

void WorkerProcess::assign(const Assignment& assignment) { child_->channel().send(to_json(assignment).dump()); }

void WorkerProcess::renew(const Lease& lease) { child_->channel().send(to_line(lease)); }

void WorkerProcess::probe() {
  {
    const std::lock_guard lock(mutex_);
    if (!has_spoken_) return;  // the worker may need long to start
    if (missed_probes_.is_unresponsive()) child_->kill();
    missed_probes_.note(false);  // counts as missed until it answers
  }
  child_->channel().send_if_free(ping_line());
}

bool WorkerProcess::is_unresponsive() {
  const std::lock_guard lock(mutex_);
  return missed_probes_.is_unresponsive();
}

void WorkerProcess::read_reports() {
  while (const auto line = child_->channel().receive()) take(*line);
  const std::string how = child_->wait_for_end();
  if (is_unresponsive()) {
    events_.on_unresponsive();
  } else {
    events_.on_end(how);
  }
}

void WorkerProcess::take(const std::string& line) {
  {
    const std::lock_guard lock(mutex_);
    has_spoken_ = true;
    missed_probes_.note(true);
  }
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (is_ping(json)) return;
  const auto message = worker_message_from(json);
  if (message) {
    events_.on_report(message->worker, message->progress);
  } else {
    log_error("worker's message refused", {{"why", message.error().message}});
  }
}

}  // namespace sailor::trainer
