#include "trainer/elastic/held_state.h"

#include <algorithm>

#include "trainer/optim/adamw.h"

namespace sailor::trainer {

Holding HeldState::holding() const {
  Holding holding{.pieces = {},
                  .step = step,
                  .has_gradients = !gradients.empty(),
                  .squared_norm = squared_norm,
                  .reached = reached,
                  .first_loss = first_loss};
  for (const auto& [id, state] : pieces) holding.pieces.push_back(id);
  return holding;
}

void HeldState::apply_gradients(const TrainingSpec& training, double norm_squared) {
  const double scale = clip_scale(training.optimizer, norm_squared);
  for (const auto& [id, gradient] : gradients) {
    apply_adamw(pieces.at(id), gradient, training, step + 1, scale);
  }
  gradients.clear();
  ++step;
  reached = std::max(reached, step);
  squared_norm = norm_squared;
}

}  // namespace sailor::trainer
