// StateStream: sends the state of a training worker to one joining worker. After each step the training thread puts
// copies into a queue, and a separate thread sends them. Training never waits for the joining worker: if it is too slow
// or lost, the stream ends without it. The receiving side is IncomingStream.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "trainer/elastic/joining/join_plan.h"
#include "trainer/elastic/joining/stream_link.h"
#include "trainer/elastic/state/held_state.h"

namespace sailor::trainer {

class StateStream {
 public:
  using Clock = std::chrono::steady_clock;

  StateStream(std::vector<StreamedShard> shards, StreamLink link);
  // Waits for the current message. To avoid a long wait, raise the interrupt of the link's group first.
  ~StateStream();
  StateStream(const StateStream&) = delete;
  StateStream& operator=(const StateStream&) = delete;

  // The training thread calls these functions for each step, after all workers have voted for it: note_gradients()
  // before the update, and note_update() after it. After the update of the generation's last step it calls
  // note_last_update() instead. note_update() may copy new shards for about the time `allowed`, but at least one shard
  // if the earlier ones have arrived. After note_last_update() all three do nothing.
  void note_gradients(const HeldState& held);
  void note_update(const HeldState& held, std::chrono::duration<double> allowed);
  void note_last_update(const HeldState& held);

  // Returns true if the change need not wait for this joining worker. Either the worker has all shards and lacks at
  // most the newest step, or it was too slow, or it was lost before the time `lost_before`.
  [[nodiscard]] bool is_settled(Clock::time_point lost_before) const;
  [[nodiscard]] bool is_over() const { return is_over_; }
  void stop();  // ends the stream; has no effect once the last step is queued

 private:
  struct Frame {
    StepHeader header;
    std::vector<at::Tensor> tensors;  // tensors in host memory
    std::int64_t elements = 0;
    void add(const at::Tensor& flat, const std::vector<StridedSpan>& spans);
  };
  void run(StreamLink link);
  void send_frames(StreamLink& link);
  void note_lost(const std::string& why);
  std::optional<Frame> next();
  void note_sent(const Frame& frame);
  void enqueue_shards(const HeldState& held, std::chrono::duration<double> allowed);
  void push(const HeldState& held);
  [[nodiscard]] bool is_behind() const;

  const std::vector<StreamedShard> shards_;
  std::int64_t elements_ = 0;  // total of the shards
  Frame frame_;                // frame of the current step; only the training thread uses it
  int sent_shards_ = 0;        // number of shards enqueued so far; only the training thread uses it
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Frame> queue_;  // the first frame is being sent
  std::int64_t queued_elements_ = 0;
  int arrived_ = 0;        // number of shards that the joining worker has
  bool has_last_ = false;  // only the training thread changes it
  bool is_stopped_ = false;
  std::optional<Clock::time_point> lost_;  // the time at which the joining worker was lost
  std::atomic<bool> is_over_ = false;
  std::thread thread_;  // declared last because it uses the other members
};

}  // namespace sailor::trainer
