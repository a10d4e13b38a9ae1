#include "trainer/agent/worker_process.h"

#include "trainer/agent/messages.h"
#include "trainer/log.h"

namespace sailor::trainer {

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::start(const std::string& program,
                                                            std::vector<std::string> arguments, WorkerEvents events) {
  auto child = ChildProcess::start(program, std::move(arguments));
  if (!child) return tl::unexpected(child.error());
  return std::unique_ptr<WorkerProcess>(new WorkerProcess(*std::move(child), std::move(events)));
}

WorkerProcess::WorkerProcess(std::unique_ptr<ChildProcess> child, WorkerEvents events)
    : child_(std::move(child)), events_(std::move(events)), reader_([this] { read_reports(); }) {}

WorkerProcess::~WorkerProcess() {
  child_->kill();
  reader_.join();
}

void WorkerProcess::assign(const Assignment& assignment) { child_->channel().send(to_json(assignment).dump()); }

void WorkerProcess::renew(const Lease& lease) { child_->channel().send(to_line(lease)); }

void WorkerProcess::read_reports() {
  while (const auto line = child_->channel().receive()) {
    const auto message = worker_message_from_line(*line);
    if (message) {
      events_.on_report(message->worker, message->progress);
    } else {
      log_error("worker's message refused", {{"why", message.error().message}});
    }
  }
  events_.on_end(child_->wait_for_end());
}

}  // namespace sailor::trainer
