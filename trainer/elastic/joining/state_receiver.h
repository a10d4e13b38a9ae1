// StateReceiver: a joining worker receives state while the running generation trains. It applies the same updates as
// the training workers, so that it has the current state when its own generation starts.
#pragma once

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "core/protocol/assignment.h"
#include "trainer/elastic/joining/join_plan.h"
#include "trainer/elastic/joining/stream_link.h"
#include "trainer/elastic/state/held_state.h"
#include "trainer/elastic/state/incoming_message.h"

namespace sailor::trainer {

// The stream from one state source, received on its own thread.
class IncomingStream {
 public:
  IncomingStream(std::shared_ptr<const Assignment> assignment, std::vector<StreamedShard> shards, StreamLink link);
  ~IncomingStream() { stop(); }  // waits for the current message; raise the interrupt of the link first
  IncomingStream(const IncomingStream&) = delete;
  IncomingStream& operator=(const IncomingStream&) = delete;

  void stop() { is_stopped_ = true; }
  [[nodiscard]] bool is_over_within(std::chrono::milliseconds patience) const;

  // To be called when the stream is over. Returns the state after the last step of the generation, or nothing if the
  // stream ended earlier.
  std::optional<HeldState> take() { return result_.get(); }

 private:
  std::optional<HeldState> run(StreamLink& link);
  void apply_step(const StepHeader& header, StreamLink& link);
  void receive_gradients(const StepHeader& header, StreamLink& link);
  void receive_shard(const StreamedShard& shard, StreamLink& link);

  const std::shared_ptr<const Assignment> assignment_;
  const std::vector<StreamedShard> shards_;
  HeldState held_;
  std::vector<at::Tensor> gradients_;  // of the shards that have arrived
  std::atomic<bool> is_stopped_ = false;
  std::future<std::optional<HeldState>> result_;  // declared last because its thread uses the other members
};

// State that arrived completely, and the generation that it belongs to.
struct ReceivedState {
  std::int64_t generation = 0;
  HeldState held;
};

class StateReceiver {
 public:
  StateReceiver(std::int64_t generation, std::vector<std::unique_ptr<IncomingStream>> streams)
      : generation_(generation), streams_(std::move(streams)) {}

  void stop();
  [[nodiscard]] bool is_over_within(std::chrono::milliseconds patience) const;

  std::optional<ReceivedState> take(const ModelSpec& model);  // when it is over; nothing if no stream was complete

 private:
  std::int64_t generation_;
  std::vector<std::unique_ptr<IncomingStream>> streams_;
};

}  // namespace sailor::trainer
