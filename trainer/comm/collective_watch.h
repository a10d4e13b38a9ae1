// CollectiveWatch: a thread that looks after collectives for which no thread of the host waits. A wait for a collective
// of NCCL returns at once and makes the device wait, so it can report neither a timeout nor an error. This thread asks
// each collective whether it is complete, and raises the interrupt if it fails or takes too long.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "trainer/comm/interrupt.h"

namespace sailor::trainer {

class CollectiveWatch {
 public:
  explicit CollectiveWatch(std::shared_ptr<Interrupt> interrupt);
  CollectiveWatch(const CollectiveWatch&) = delete;
  CollectiveWatch& operator=(const CollectiveWatch&) = delete;

  // Returns whether the collective is complete. Throws if it has failed. Called on the watching thread.
  using IsComplete = std::function<bool()>;

  // One collective under watch.
  class Watched {
   public:
    Watched() = default;
    // Watches something else instead until it is complete, within the same time. The watch then no longer keeps the
    // collective alive, and with it its tensors.
    void replace(IsComplete is_complete);
    void end();  // stops watching

   private:
    friend class CollectiveWatch;
    struct Entry {
      std::string doing;
      std::chrono::steady_clock::time_point deadline;
      std::chrono::milliseconds timeout;
      std::mutex mutex;
      IsComplete is_complete;  // null: no longer watched
    };
    std::shared_ptr<Entry> entry_;
  };

  // `doing` says what the collective is, for the message of the exception with which the interrupt is raised.
  [[nodiscard]] Watched watch(std::string doing, std::chrono::milliseconds timeout, IsComplete is_complete);

 private:
  using Entry = Watched::Entry;
  void run(const std::stop_token& stop);
  [[nodiscard]] bool is_over(Entry& entry);

  std::shared_ptr<Interrupt> interrupt_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::list<std::shared_ptr<Entry>> entries_;  // that the thread does not know yet
  bool is_idle_ = false;                       // the thread waits for entries, and not only for its next look
  std::jthread thread_;                        // declared last because it uses the other members
};

}  // namespace sailor::trainer
