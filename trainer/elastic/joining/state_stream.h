// StateStream: sends the state of a training worker to one receiver, another worker of the next generation. A thread
// copies shards between two updates, while steps compute, and sends them. After each step the training thread puts the
// gradients of the shards that were sent into a queue, and the thread sends them as well. Training never waits for the
// receiver: if it is too slow or lost, the stream ends without it. The receiving side is IncomingStream.
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

#include "trainer/elastic/joining/host_buffers.h"
#include "trainer/elastic/joining/join_plan.h"
#include "trainer/elastic/joining/stream_link.h"
#include "trainer/elastic/joining/stream_pace.h"
#include "trainer/elastic/state/live_state.h"

namespace sailor::trainer {

class StateStream : public UpdateListener {
 public:
  using Clock = std::chrono::steady_clock;

  // Begins to send at once. `live` and `pace` must outlive it.
  StateStream(LiveState& live, const StreamPace& pace, std::vector<StreamedShard> shards, StreamLink link);
  // Waits for the current message. To avoid a long wait, raise the interrupt of the link's group first.
  ~StateStream() override;

  // After the update of the generation's last step these two functions do nothing.
  void before_update(const HeldState& held) override;
  void after_update(const HeldState& held, const AppliedStep& step) override;

  // Returns true if the change need not wait for this receiver. Either the receiver has all shards and lacks at most
  // the newest step, or it was too slow, or it was lost before the time `lost_before`.
  [[nodiscard]] bool is_settled(Clock::time_point lost_before) const;
  [[nodiscard]] bool is_over() const { return is_over_; }
  // Elements of a state, each of which stands for a weight and its moments.
  struct Progress {
    std::int64_t arrived = 0;
    std::int64_t unique_left = 0;  // unique ones (StreamedShard) that have not arrived
  };
  [[nodiscard]] Progress progress() const;
  void stop();  // ends the stream; has no effect once the last step is queued

 private:
  struct Message {
    StreamHeader header;
    std::vector<at::Tensor> tensors;  // in host memory
    std::int64_t elements = 0;
    std::function<void()> wait_until_copied = nullptr;  // null: the tensors are copied
  };
  void add(Message& message, const at::Tensor& flat, const std::vector<StridedSpan>& spans);
  void run(StreamLink link);
  void send_messages(StreamLink& link);
  void note_lost(const std::string& why);
  void give_up(const std::string& why);
  std::optional<Message> next();
  std::optional<Message> next_shard();
  [[nodiscard]] bool is_up_to_date() const;
  void rest();
  void note_sent(const Message& message);
  void push(const HeldState& held, bool is_last);
  [[nodiscard]] bool is_behind() const;

  LiveState& live_;
  const StreamPace& pace_;
  const std::vector<StreamedShard> shards_;
  std::int64_t elements_ = 0;  // total of the shards
  HostBuffers buffers_;
  Message step_;         // the step that is being applied; only the training thread uses it
  int sent_shards_ = 0;  // number of shards copied so far; changed only in a read of `live_`
  Clock::time_point shard_began_, next_shard_at_ = Clock::now();  // only the sending thread uses these two
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Message> queue_;  // steps; the first one is sent next or is being sent
  std::int64_t queued_elements_ = 0;
  int arrived_ = 0;        // number of shards that the receiver has
  bool has_last_ = false;  // changed only in an update of `live_`
  bool is_stopped_ = false;
  std::optional<Clock::time_point> lost_;  // the time at which the receiver was lost
  std::atomic<bool> is_over_ = false;
  std::thread thread_;  // declared last because it uses the other members
};

}  // namespace sailor::trainer
