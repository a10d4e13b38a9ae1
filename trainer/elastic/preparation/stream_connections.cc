#include "trainer/elastic/preparation/stream_connections.h"

#include <utility>

#include <fmt/format.h>

#include "core/log/log.h"
#include "core/protocol/timeouts.h"
#include "trainer/comm/communication_error.h"
#include "trainer/device/device.h"
#include "trainer/elastic/regroup/peer_names.h"

namespace sailor::trainer {

StreamConnections::StreamConnections(const std::shared_ptr<const Assignment>& assignment,
                                     GenerationRendezvous& rendezvous, const WorkerSettings& settings, LiveState& live)
    : timeout_(settings.timeouts.peer), lost_limit_(settings.timeouts.replacement()) {
  GroupFactory factory(rendezvous.store(), settings.host, rendezvous.rank(), timeout_,
                       {.names = names_of_workers(*assignment)});
  interrupt_ = factory.interrupt();
  connect(assignment, rendezvous, factory, live);
}

StreamConnections::~StreamConnections() { break_off(); }

// All workers connect in the same order, so that they cannot wait for each other in a circle.
void StreamConnections::connect(const std::shared_ptr<const Assignment>& assignment, GenerationRendezvous& rendezvous,
                                GroupFactory& factory, LiveState& live) {
  JoinPlan plan = rendezvous.join_plan();
  std::vector<std::unique_ptr<IncomingStream>> received;
  try {
    for (auto& [source, receiver, shards] : plan.streams) {
      if (rendezvous.rank() != source && rendezvous.rank() != receiver) continue;
      auto group = factory.make_message_group(fmt::format("stream-{}-{}", source, receiver), {source, receiver});
      StreamLink link(std::move(group), rendezvous.rank() == source ? receiver : source, timeout_);
      if (rendezvous.rank() == receiver) {
        const at::Device device = rendezvous.trains() ? at::Device(at::kCPU) : compute_device();
        received.push_back(
            std::make_unique<IncomingStream>(assignment, plan.generation, std::move(shards), std::move(link), device));
        continue;
      }
      if (!outgoing_) {
        outgoing_ = std::make_unique<StateStreams>(
            live, StateStreams::Limits{.lost = lost_limit_, .all = kStateStreamingLimit},
            assignment->leave_by ? kNoTimeToLose : assignment->streaming_slowdown_percent / 100.0);
      }
      outgoing_->add(std::move(shards), std::move(link));
    }
  } catch (const CommunicationError& error) {
    log_info("state streaming is off", {{"why", error.what()}});
    unconnected_ = StateStream::Clock::now();
    interrupt_->raise();
    outgoing_.reset();
    return;
  }
  if (!received.empty()) receiver_ = std::make_unique<StateReceiver>(std::move(received));
}

bool StreamConnections::is_settled() const {
  if (unconnected_) return StateStream::Clock::now() > *unconnected_ + lost_limit_;
  return !outgoing_ || outgoing_->is_settled();
}

void StreamConnections::end_streaming() {
  if (outgoing_) outgoing_->stop();
}

void StreamConnections::break_off() {
  end_streaming();
  if (receiver_) receiver_->stop();
  interrupt_->raise();
}

bool StreamConnections::is_over() const {
  return (!outgoing_ || outgoing_->is_over()) && has_received_within(std::chrono::milliseconds(0));
}

bool StreamConnections::has_received_within(std::chrono::milliseconds timeout) const {
  return !receiver_ || receiver_->is_over_within(timeout);
}

std::optional<ReceivedState> StreamConnections::take_received(const ModelSpec& model) {
  return receiver_ ? receiver_->take(model) : std::nullopt;
}

}  // namespace sailor::trainer
