#include "trainer/elastic/state/live_state.h"

namespace sailor::trainer {

void LiveState::begin(std::int64_t generation, std::int64_t updated_by) {
  const std::lock_guard lock(mutex_);
  is_live_ = true;
  generation_ = generation;
  updated_by_ = updated_by;
}

void LiveState::end() {
  std::unique_lock lock(mutex_);
  is_live_ = false;
  expected_end_.reset();
  changed_.wait(lock, [&] { return readers_ == 0; });
}

void LiveState::begin_step(double usual_seconds) {
  const std::lock_guard lock(mutex_);
  expected_end_.reset();
  if (usual_seconds == 0) return;
  const std::chrono::duration<double> usual(usual_seconds);
  expected_end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(usual);
}

std::optional<LiveState::Clock::time_point> LiveState::expected_end() const {
  const std::lock_guard lock(mutex_);
  return expected_end_;
}

void LiveState::update(const TrainingSpec& training, const AppliedStep& step) {
  std::unique_lock lock(mutex_);
  is_update_waiting_ = true;
  changed_.wait(lock, [&] { return readers_ == 0; });
  is_update_waiting_ = false;
  changed_.notify_all();  // to threads that get no further before the lock is free
  for (UpdateListener* listener : listeners_) listener->before_update(held_);
  held_.apply_gradients(training);
  updated_by_ = generation_;
  for (UpdateListener* listener : listeners_) listener->after_update(held_, step);
}

void LiveState::attach(UpdateListener& listener) {
  const std::lock_guard lock(mutex_);
  listeners_.push_back(&listener);
}

void LiveState::detach(const UpdateListener& listener) {
  const std::lock_guard lock(mutex_);
  std::erase(listeners_, &listener);
}

bool LiveState::enter() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !is_update_waiting_; });
  if (is_live_) ++readers_;
  return is_live_;
}

void LiveState::leave() {
  const std::lock_guard lock(mutex_);
  --readers_;
  changed_.notify_all();
}

}  // namespace sailor::trainer
