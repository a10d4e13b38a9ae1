// Preparation: all of a generation that can be done before its turn: its data are opened, its workers found, its
// connections made, on a thread of its own, while the generation before trains. Newcomers follow that training.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "trainer/data/batches.h"
#include "trainer/elastic/preparation/stream_connections.h"
#include "trainer/elastic/regroup/regroup.h"

namespace sailor::trainer {

struct Prepared {
  std::unique_ptr<Batches> batches;  // none for a worker that leaves
  Membership membership;             // connected, unless the generation parks
  std::optional<Followed> followed;  // of a newcomer
};

class Preparation {
 public:
  // The settings and the inbox outlive it. `standing`: this worker's, at the beginning.
  Preparation(std::shared_ptr<const Assignment> assignment, Standing standing, const WorkerSettings& settings,
              const Inbox& inbox);
  ~Preparation();  // waits for what is under way: no longer than connecting may take
  Preparation(const Preparation&) = delete;
  Preparation& operator=(const Preparation&) = delete;

  [[nodiscard]] bool is_over() const;  // done, failed, or a newer generation is known

  // Training had better go on until it is taken: it is not over, newcomers catch up with the steps, or what failed may
  // soon be replaced.
  [[nodiscard]] bool puts_off_the_switch() const;
  [[nodiscard]] Feeding* feeding() const;  // of those who follow this worker; null: nobody does, or not yet

  void abandon();                        // it is of no use any more
  [[nodiscard]] bool has_ended() const;  // over, and nobody follows

  // Waits, from now on with limited patience, and ends the following. Nothing: a newer generation is known. Throws what
  // went wrong: PeerLost, CannotTrain.
  std::optional<Prepared> take();

  [[nodiscard]] std::int64_t generation() const { return assignment_->generation; }

 private:
  using Clock = std::chrono::steady_clock;
  void run();
  std::optional<Prepared> prepare();
  bool await_end();
  bool await_followed();

  const std::shared_ptr<const Assignment> assignment_;
  const Standing standing_;
  const WorkerSettings& settings_;
  const Inbox& inbox_;
  std::atomic<Clock::time_point> deadline_{Clock::time_point::max()};  // until which the others must have come
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  bool is_abandoned_ = false;
  std::exception_ptr error_;
  Clock::time_point failed_;
  std::optional<Prepared> prepared_;
  std::unique_ptr<FollowEnds> ends_;  // none unless all has been prepared
  std::thread thread_;                // the last to begin: it uses the others
};

}  // namespace sailor::trainer
