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
#include "trainer/elastic/feeding.h"
#include "trainer/elastic/following.h"
#include "trainer/elastic/regroup.h"

namespace sailor::trainer {

struct Prepared {
  std::unique_ptr<Batches> batches;  // none for a worker that leaves
  Membership membership;             // connected, unless the generation parks
};

class Preparation {
 public:
  // The settings and the inbox outlive it. `standing`: this worker's, at the beginning.
  Preparation(std::shared_ptr<const Assignment> assignment, Standing standing, const WorkerSettings& settings,
              const Inbox& inbox);
  ~Preparation();  // waits for what is under way: no longer than a connection's time-out
  Preparation(const Preparation&) = delete;
  Preparation& operator=(const Preparation&) = delete;

  [[nodiscard]] bool is_over() const;  // done, failed, or a newer generation is known

  // Once it is over: how newcomers follow this worker, or this one others. Null where nobody does.
  [[nodiscard]] Feeding* feeding() const;
  [[nodiscard]] Following* following() const;

  void abandon();                        // it is of no use any more
  [[nodiscard]] bool has_ended() const;  // over, and nobody follows

  // Waits, from now on with limited patience. Nothing: a newer generation is known. Throws what went wrong: PeerLost,
  // CannotTrain.
  std::optional<Prepared> take();

  [[nodiscard]] std::int64_t generation() const { return assignment_->generation; }

 private:
  using Clock = std::chrono::steady_clock;
  void run();
  std::optional<Prepared> prepare();
  void connect_followers(Meeting& meeting);
  void stop_followers();  // under the lock

  const std::shared_ptr<const Assignment> assignment_;
  const Standing standing_;
  const WorkerSettings& settings_;
  const Inbox& inbox_;
  std::atomic<Clock::time_point> deadline_{Clock::time_point::max()};  // until which the others must have come
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::exception_ptr error_;
  std::optional<Prepared> prepared_;
  std::unique_ptr<Feeding> feeding_;
  std::unique_ptr<Following> following_;
  bool is_abandoned_ = false;
  std::thread thread_;  // the last to begin: it uses the others
};

}  // namespace sailor::trainer
