#include "trainer/elastic/preparation/stream_connections.h"

#include <utility>

#include <fmt/format.h>

#include "core/log/log.h"
#include "core/protocol/timeouts.h"
#include "trainer/comm/communication_error.h"
#include "trainer/elastic/regroup/peer_names.h"

namespace sailor::trainer {

StreamConnections::StreamConnections(const std::shared_ptr<const Assignment>& assignment,
                                     GenerationRendezvous& rendezvous, const WorkerSettings& settings)
    : timeout_(settings.timeouts.peer), lost_limit_(settings.timeouts.replacement()) {
  GroupFactory factory(rendezvous.store(), settings.host, rendezvous.rank(), timeout_, names_of_workers(*assignment));
  interrupt_ = factory.interrupt();
  connect(assignment, rendezvous, factory);
}

StreamConnections::~StreamConnections() { break_off(); }

// All workers connect in the same order, so that they cannot wait for each other in a circle.
void StreamConnections::connect(const std::shared_ptr<const Assignment>& assignment, GenerationRendezvous& rendezvous,
                                GroupFactory& factory) {
  JoinPlan plan = rendezvous.join_plan();
  std::vector<std::unique_ptr<StateStream>> streams;
  std::vector<std::unique_ptr<IncomingStream>> followed;
  try {
    for (auto& [source, joining_worker, shards] : plan.streams) {
      if (rendezvous.rank() != source && rendezvous.rank() != joining_worker) continue;
      auto group =
          factory.make_message_group(fmt::format("stream-{}-{}", source, joining_worker), {source, joining_worker});
      StreamLink link(std::move(group), rendezvous.rank() == source ? joining_worker : source, timeout_);
      if (rendezvous.rank() == source) {
        streams.push_back(std::make_unique<StateStream>(std::move(shards), std::move(link)));
      } else {
        followed.push_back(std::make_unique<IncomingStream>(assignment, std::move(shards), std::move(link)));
      }
    }
  } catch (const CommunicationError& error) {
    log_info("state streaming is off", {{"why", error.what()}});
    unconnected_ = StateStream::Clock::now();
    interrupt_->raise();
    return;
  }
  if (!streams.empty()) {
    outgoing_ = std::make_unique<StateStreams>(std::move(streams),
                                               StateStreams::Limits{.lost = lost_limit_, .all = kStateStreamingLimit});
  }
  if (!followed.empty()) receiver_ = std::make_unique<StateReceiver>(plan.generation, std::move(followed));
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
