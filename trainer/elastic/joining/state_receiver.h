// StateReceiver: a joining worker receives state from training workers while the running generation trains. It also
// receives the gradients of each step and applies the same updates as the training workers. So it has the current state
// when its own generation starts. The sending side is StateStream.
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

// Receives the stream of one state source on its own thread.
class IncomingStream {
 public:
  IncomingStream(std::shared_ptr<const Assignment> assignment, std::vector<StreamedShard> shards, StreamLink link);
  // Waits for the current message. To avoid a long wait, raise the interrupt of the link's group first.
  ~IncomingStream() { stop(); }
  IncomingStream(const IncomingStream&) = delete;
  IncomingStream& operator=(const IncomingStream&) = delete;

  void stop() { is_stopped_ = true; }
  // Waits at most `timeout` until the stream is over, that is, complete or failed. Returns whether it is over.
  [[nodiscard]] bool is_over_within(std::chrono::milliseconds timeout) const;

  // Call it when the stream is over. Returns the state after the last step of the generation, or nothing if the stream
  // ended before that step.
  std::optional<HeldState> take() { return result_.get(); }

 private:
  std::optional<HeldState> run(StreamLink& link);
  void apply_step(const StepHeader& header, StreamLink& link);
  void receive_gradients(const StepHeader& header, StreamLink& link);
  void receive_shard(const StreamedShard& shard, StreamLink& link);

  const std::shared_ptr<const Assignment> assignment_;
  const std::vector<StreamedShard> shards_;
  HeldState held_;
  std::vector<at::Tensor> gradients_;  // gradients of the shards that have arrived
  std::atomic<bool> is_stopped_ = false;
  std::future<std::optional<HeldState>> result_;  // declared last because its thread uses the other members
};

// The state from all streams that were complete, after the last step of `generation`. The slices of failed streams are
// missing; the worker receives them during the pause.
struct ReceivedState {
  std::int64_t generation = 0;
  HeldState held;
};

// Receives the streams from all sources of one joining worker.
class StateReceiver {
 public:
  StateReceiver(std::int64_t generation, std::vector<std::unique_ptr<IncomingStream>> streams)
      : generation_(generation), streams_(std::move(streams)) {}

  void stop();
  [[nodiscard]] bool is_over_within(std::chrono::milliseconds timeout) const;

  // Call it when all streams are over. Returns nothing if no stream was complete.
  std::optional<ReceivedState> take(const ModelSpec& model);

 private:
  std::int64_t generation_;
  std::vector<std::unique_ptr<IncomingStream>> streams_;
};

}  // namespace sailor::trainer
