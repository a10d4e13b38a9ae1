#include "trainer/elastic/joining/state_streaming.h"

#include <algorithm>

namespace sailor::trainer {
namespace {

constexpr double kShareOfStep = 0.05;  // that handing out may take

}  // namespace

void Feeding::note_gradients(const HeldState& held) {
  for (const auto& outlet : outlets_) outlet->note_gradients(held);
}

void Feeding::note_update(const HeldState& held, std::chrono::duration<double> step) {
  const auto allowed = kShareOfStep * step / static_cast<double>(outlets_.size());
  for (const auto& outlet : outlets_) outlet->note_update(held, allowed);
}

void Feeding::note_last_update(const HeldState& held) {
  for (const auto& outlet : outlets_) outlet->note_last_update(held);
}

bool Feeding::is_settled() const {
  const auto now = Outlet::Clock::now();
  return now > deadline_ ||
         std::ranges::all_of(outlets_, [&](const auto& outlet) { return outlet->is_settled(now - lost_limit_); });
}

void Feeding::stop() {
  for (const auto& outlet : outlets_) outlet->stop();
}

bool Feeding::is_over() const {
  return std::ranges::all_of(outlets_, [](const auto& one) { return one->is_over(); });
}

}  // namespace sailor::trainer
