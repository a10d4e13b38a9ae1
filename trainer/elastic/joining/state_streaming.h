// Feeding: how a worker that trains lets newcomers of the next generation follow its steps.
#pragma once

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "trainer/elastic/joining/state_stream.h"

namespace sailor::trainer {

class Feeding {
 public:
  // For how long the change is put off: for one that is lost, for it may soon be replaced, and for all of them.
  struct Limits {
    std::chrono::milliseconds lost;
    std::chrono::milliseconds all;
  };
  Feeding(std::vector<std::unique_ptr<Outlet>> outlets, const Limits& limits)
      : outlets_(std::move(outlets)), lost_limit_(limits.lost), deadline_(Outlet::Clock::now() + limits.all) {}

  // In each step, once all have voted for it: before its update and after it, or instead after the last one of the
  // generation.
  void note_gradients(const HeldState& held);
  void note_update(const HeldState& held, std::chrono::duration<double> step);
  void note_last_update(const HeldState& held);

  // Nobody has to wait for followers any more: each has caught up or is given up, or a limit has passed.
  [[nodiscard]] bool is_settled() const;

  void stop();  // unless the last step is on its way
  [[nodiscard]] bool is_over() const;

 private:
  std::vector<std::unique_ptr<Outlet>> outlets_;
  std::chrono::milliseconds lost_limit_;
  Outlet::Clock::time_point deadline_;
};

}  // namespace sailor::trainer
