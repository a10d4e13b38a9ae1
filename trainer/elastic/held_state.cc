#include "trainer/elastic/held_state.h"

#include <algorithm>

#include "trainer/optim/adamw.h"

namespace sailor::trainer {

Holding HeldState::holding(const Account& account) const {
  Holding holding{.account = account,
                  .slices = {},
                  .loss = loss,
                  .next_loss = next_loss,
                  .reached = reached,
                  .first_loss = first_loss};
  for (const auto& [id, state] : pieces) holding.slices.push_back(id);
  return holding;
}

void HeldState::apply_gradients(const TrainingSpec& training) {
  if (squared_norm == kStepLeftOut) gradients.clear();
  const double scale = clip_scale(training.optimizer, squared_norm);
  for (const auto& [id, gradient] : gradients) {
    apply_adamw(pieces.at(id), gradient, training, step + 1, scale);
  }
  ++step;
  if (step == 1) first_loss = next_loss;
  loss = next_loss;
  reached = std::max(reached, step);
  forget_gradients();
}

void HeldState::forget_gradients() {
  gradients.clear();
  squared_norm = next_loss = 0;
}

}  // namespace sailor::trainer
