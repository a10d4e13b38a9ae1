// Preparation: does on a separate thread everything that a worker can do for its next generation while the current one
// trains. It opens the data, waits for the other workers at the rendezvous, and connects to them. State streams start
// as well: workers receive state that they do not hold yet.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "trainer/data/batches.h"
#include "trainer/elastic/preparation/stream_connections.h"
#include "trainer/elastic/regroup/regroup.h"

namespace sailor::trainer {

struct Prepared {
  std::unique_ptr<Batches> batches;       // null for a worker that leaves
  Membership membership;                  // connected, unless the generation releases its GPUs
  std::optional<ReceivedState> received;  // by state streams
};

// The worker that prepares. All that it refers to must outlive its preparations.
struct PreparingWorker {
  const WorkerSettings& settings;
  AssignmentMailbox& mailbox;
  LiveState& live;
  // Called now and then in an urgent change, on the thread of the preparation.
  std::function<void(const UnsentState&)> on_unsent;
};

class Preparation {
 public:
  Preparation(std::shared_ptr<const Assignment> assignment, PreparationReport preparation_report,
              const PreparingWorker& worker);
  ~Preparation();  // abandons the preparation; waits at most as long as connecting may take
  Preparation(const Preparation&) = delete;
  Preparation& operator=(const Preparation&) = delete;

  // Returns true if the thread has ended: it has succeeded, has failed, or has stopped for a newer generation. State
  // streams may still run.
  [[nodiscard]] bool is_over() const;

  // Returns true if training should continue before this generation starts. Either the preparation is not over, or a
  // state stream from this worker is not, or the preparation has failed and the operator may soon replace the lost
  // worker.
  [[nodiscard]] bool delays_switch() const;

  void abandon();                                   // stops the preparation and its streams as soon as possible
  [[nodiscard]] bool is_over_with_streams() const;  // the preparation and its streams are over

  // Waits until the preparation is over, ends streaming, and returns the result. Before this call the other workers may
  // arrive at the rendezvous at any time; from this call on they must arrive within Timeouts::join. Returns nothing if
  // a newer generation is known. Throws the error of the preparation: CommunicationError, CannotCommunicate or
  // CannotTrain.
  std::optional<Prepared> take();

  [[nodiscard]] std::int64_t generation() const { return assignment_->generation; }

 private:
  using Clock = std::chrono::steady_clock;
  void run();
  std::optional<Prepared> prepare();
  bool await_end();
  bool await_received();
  void leave_in_time();

  const std::shared_ptr<const Assignment> assignment_;
  const PreparationReport preparation_report_;
  const WorkerSettings& settings_;
  AssignmentMailbox& mailbox_;
  LiveState& live_;
  const std::function<void(const UnsentState&)> on_unsent_;
  const std::shared_ptr<Interrupt> connecting_ = std::make_shared<Interrupt>();  // aborts the generation's groups
  std::atomic<Clock::time_point> deadline_{Clock::time_point::max()};            // when all workers must have arrived
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  bool is_abandoned_ = false;
  bool is_taken_ = false;  // the worker has left the running generation
  std::exception_ptr error_;
  Clock::time_point failed_;
  std::optional<Prepared> prepared_;
  std::unique_ptr<StreamConnections> connections_;  // null until the preparation has succeeded
  std::thread thread_;                              // declared last because it uses the other members
};

}  // namespace sailor::trainer
