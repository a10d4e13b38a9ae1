#include "trainer/agent/messages.h"

#include "core/protocol/message.h"

namespace sailor::trainer {

std::string to_line(const Lease& lease) {
  return nlohmann::json{{"lease", lease.generation}, {"until", lease.until.time_since_epoch().count()}}.dump();
}

std::optional<Lease> lease_from(const nlohmann::json& line) {
  if (!line.is_object() || !line.contains("lease")) return std::nullopt;
  return Lease{line.value("lease", std::int64_t{0}),
               BootClock::time_point(BootClock::duration(line.value("until", std::int64_t{0})))};
}

std::string ping_line() { return R"({"ping":1})"; }

bool is_ping(const nlohmann::json& line) { return line.is_object() && line.contains("ping"); }

// Encodes the message as an AgentReport with one worker, because functions that write and check its JSON exist already.
std::string to_line(const WorkerMessage& message) {
  const AgentReport report{
      .agent = "", .is_terminating = false, .workers = {message.worker}, .progress = message.progress, .callback = ""};
  return write_message(to_json(report));
}

Result<WorkerMessage> worker_message_from(const nlohmann::json& line) {
  const auto report = agent_report_from_json(line);
  if (!report) return tl::unexpected(report.error());
  if (report->workers.size() != 1) return fail(ErrorCode::kInvalidArgument, "a worker reports of itself only");
  return WorkerMessage{report->workers.front(), report->progress};
}

}  // namespace sailor::trainer
