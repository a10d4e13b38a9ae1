// Feeding: how a worker that trains lets newcomers of the next generation follow its steps.
#pragma once

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "trainer/elastic/outlet.h"

namespace sailor::trainer {

class Feeding {
 public:
  // The change is put off for the followers no longer than the patience.
  Feeding(std::vector<std::unique_ptr<Outlet>> outlets, std::chrono::milliseconds patience)
      : outlets_(std::move(outlets)), deadline_(std::chrono::steady_clock::now() + patience) {}

  // In each step, once all have voted for it: before its update and after it, or instead after the last one of the
  // generation.
  void note_gradients(const HeldState& held);
  void note_update(const HeldState& held, std::chrono::duration<double> step);
  void note_last_update(const HeldState& held);

  // Nobody has to wait for followers any more: each has caught up or is given up, or the limit has passed.
  [[nodiscard]] bool is_settled() const;

  void stop();  // unless the last step is on its way
  [[nodiscard]] bool is_over() const;

 private:
  std::vector<std::unique_ptr<Outlet>> outlets_;
  std::chrono::steady_clock::time_point deadline_;
};

}  // namespace sailor::trainer
