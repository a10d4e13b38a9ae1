// LiveState: lets other threads of a worker read its state while it trains. Weights and moments change only in an
// update, so they can be copied while the next step computes. An update waits for reads that have begun, and no read
// begins while an update waits or runs.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "trainer/elastic/state/held_state.h"

namespace sailor::trainer {

// A step whose update is being applied, after all workers have voted for it.
struct AppliedStep {
  bool is_last = false;      // the generation ends with this step
  double seconds = 0;        // since the step began
  double usual_seconds = 0;  // mean of the steps before it; 0: unknown
};

// Is told of each update by the training thread. Reads do not run meanwhile.
class UpdateListener {
 public:
  UpdateListener() = default;
  UpdateListener(const UpdateListener&) = delete;
  UpdateListener& operator=(const UpdateListener&) = delete;
  virtual ~UpdateListener() = default;
  virtual void before_update(const HeldState& held) = 0;  // `held` has the gradients of the step
  virtual void after_update(const HeldState& held, const AppliedStep& step) = 0;
};

class LiveState {
 public:
  using Clock = std::chrono::steady_clock;

  // `held` must outlive the object.
  explicit LiveState(HeldState& held) : held_(held) {}
  [[nodiscard]] HeldState& held() const { return held_; }  // for the training thread

  // The training thread calls the next three functions. Between begin() and end() it changes `held` only in update().
  // `updated_by` is the generation that made the last update of the state.
  void begin(std::int64_t generation, std::int64_t updated_by);
  void end();  // waits for reads
  // A step begins. Steps usually take `usual_seconds`; 0: unknown.
  void begin_step(double usual_seconds);
  void update(const TrainingSpec& training, const AppliedStep& step);  // applies the gradients of the step

  // Any thread may call the next two functions, but not within update(). A listener hears of each update that begins
  // after attach() has returned, and of none after detach() has returned.
  void attach(UpdateListener& listener);
  void detach(const UpdateListener& listener);

  // Returns when the current step is expected to end. Returns nothing if that is unknown or the worker does not train.
  // Any thread may call it.
  [[nodiscard]] std::optional<Clock::time_point> expected_end() const;

  // Calls read(const HeldState&, updated_by) between two updates and returns true, or returns false if the worker does
  // not train. Any thread may call it, except the training thread.
  template <class Read>
  bool read(Read read) {
    if (!enter()) return false;
    const Leave leave{*this};
    read(std::as_const(held_), updated_by_);
    return true;
  }

 private:
  struct Leave {
    LiveState& live;
    ~Leave() { live.leave(); }
  };
  bool enter();
  void leave();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  HeldState& held_;
  bool is_live_ = false;         // between begin() and end()
  std::int64_t generation_ = 0;  // the generation that trains
  std::int64_t updated_by_ = 0;
  std::optional<Clock::time_point> expected_end_;
  int readers_ = 0;
  bool is_update_waiting_ = false;  // no read may begin; an update that runs has the mutex
  std::vector<UpdateListener*> listeners_;
};

}  // namespace sailor::trainer
