// StreamConnections: connects and owns the state streams of one worker, those that it sends and those that it receives.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "trainer/comm/group_factory.h"
#include "trainer/comm/interrupt.h"
#include "trainer/elastic/control/worker_settings.h"
#include "trainer/elastic/joining/state_receiver.h"
#include "trainer/elastic/joining/state_streams.h"
#include "trainer/elastic/regroup/generation_rendezvous.h"

namespace sailor::trainer {

class StreamConnections {
 public:
  // Connects the streams of this worker, after all workers have arrived at the rendezvous. Streaming is optional: if a
  // connection fails, the state moves when training stops for the change.
  // `live` is the state of this worker; it must outlive the object.
  StreamConnections(const std::shared_ptr<const Assignment>& assignment, GenerationRendezvous& rendezvous,
                    const WorkerSettings& settings, LiveState& live);
  ~StreamConnections();
  StreamConnections(const StreamConnections&) = delete;
  StreamConnections& operator=(const StreamConnections&) = delete;

  [[nodiscard]] bool is_settled() const;  // the change need not wait for the receivers of this source
  [[nodiscard]] UnsentState unsent() const { return outgoing_ ? outgoing_->unsent() : UnsentState{}; }

  void end_streaming();  // stops sending; a last step that is queued is still sent
  void break_off();      // ends all streams at once; may be called from any thread
  [[nodiscard]] bool is_over() const;
  // Waits at most `timeout` for each incoming stream. Returns true if all incoming streams are over, whether complete
  // or failed, or if this worker receives none.
  [[nodiscard]] bool has_received_within(std::chrono::milliseconds timeout) const;
  std::optional<ReceivedState> take_received(const ModelSpec& model);  // call it after has_received_within()

 private:
  void connect(const std::shared_ptr<const Assignment>& assignment, GenerationRendezvous& rendezvous,
               GroupFactory& factory, LiveState& live);

  std::chrono::milliseconds timeout_;
  std::chrono::milliseconds lost_limit_;
  std::shared_ptr<Interrupt> interrupt_;                       // aborts all streams
  std::optional<StateStream::Clock::time_point> unconnected_;  // the time at which connecting failed
  std::unique_ptr<StateStreams> outgoing_;
  std::unique_ptr<StateReceiver> receiver_;
};

}  // namespace sailor::trainer
