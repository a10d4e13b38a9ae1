// StateReceiver: a worker receives state that it needs in the next generation from training workers, while the running
// generation trains. It also receives the gradients of each step and applies the same updates as the training workers.
// So it has the current state when the next generation starts. The sending side is StateStream.
#pragma once

#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/protocol/assignment.h"
#include "trainer/elastic/joining/join_plan.h"
#include "trainer/elastic/joining/stream_link.h"
#include "trainer/elastic/state/held_state.h"
#include "trainer/elastic/state/incoming_message.h"

namespace sailor::trainer {

// State that a worker has received while `generation` trained.
struct ReceivedState {
  std::int64_t generation = 0;
  std::int64_t updated_by = 0;  // the generation that made the last update
  HeldState held;
  bool is_final = false;  // the generation ended after this step; otherwise its workers may have done another one
};

// Receives the stream of one state source on its own thread.
class IncomingStream {
 public:
  // Keeps and updates the state on `device`. A worker that trains meanwhile keeps it in host memory, because the memory
  // of its GPU is that of its plan.
  // `generation` is the one that trains meanwhile.
  IncomingStream(std::shared_ptr<const Assignment> assignment, std::int64_t generation,
                 std::vector<StreamedShard> shards, StreamLink link, at::Device device);
  // Waits for the current message. To avoid a long wait, raise the interrupt of the link's group first.
  ~IncomingStream() { stop(); }
  IncomingStream(const IncomingStream&) = delete;
  IncomingStream& operator=(const IncomingStream&) = delete;

  void stop() { is_stopped_ = true; }
  // Waits at most `timeout` until the stream is over, that is, complete or failed. Returns whether it is over.
  [[nodiscard]] bool is_over_within(std::chrono::milliseconds timeout) const;

  // Call it when the stream is over. Returns the state with all shards that have arrived, after the newest step that
  // has. Returns nothing after stop(), or if nothing has arrived.
  std::optional<ReceivedState> take() { return result_.get(); }

 private:
  bool run(StreamLink& link);  // returns true if the last step of the generation has arrived
  void check_order(const StreamHeader& header) const;
  void apply_step(const StreamHeader& header, StreamLink& link);
  void receive_gradients(const StreamHeader& header, StreamLink& link);
  void receive_shards(const StreamHeader& header, StreamLink& link);
  void keep_arrived_shards();
  [[nodiscard]] StateLayout layout_of_shards(std::span<const StreamedShard> shards, int layer_state,
                                             bool is_peer_replica) const;
  LayerState& place_of(const StreamedShard& shard);
  [[nodiscard]] LayerStates& states_of(const StreamedShard& shard);

  const std::shared_ptr<const Assignment> assignment_;
  const std::vector<StreamedShard> shards_;
  const at::Device device_;
  const std::int64_t generation_;
  std::int64_t updated_by_ = 0;
  HeldState held_;
  int arrived_ = 0;                                    // number of shards
  std::map<const LayerState*, at::Tensor> gradients_;  // of the layer states of which shards have arrived
  std::atomic<bool> is_stopped_ = false;
  std::future<std::optional<ReceivedState>> result_;  // declared last because its thread uses the other members
};

// Receives the streams from all sources of one worker.
class StateReceiver {
 public:
  explicit StateReceiver(std::vector<std::unique_ptr<IncomingStream>> streams) : streams_(std::move(streams)) {}

  void stop();
  [[nodiscard]] bool is_over_within(std::chrono::milliseconds timeout) const;

  // Call it when all streams are over. Returns what arrived of the newest step of all streams; the worker receives the
  // rest during the pause. Returns nothing if nothing arrived.
  std::optional<ReceivedState> take(const ModelSpec& model);

 private:
  std::vector<std::unique_ptr<IncomingStream>> streams_;
};

}  // namespace sailor::trainer
