#include "trainer/elastic/preparation/preparations.h"

#include <utility>

namespace sailor::trainer {

void Preparations::begin(const std::shared_ptr<const Assignment>& assignment,
                         const PreparationReport& preparation_report) {
  const std::lock_guard lock(mutex_);
  if (assignment->generation <= newest_generation_) return;
  abandon_locked();
  newest_generation_ = assignment->generation;
  newest_ = std::make_shared<Preparation>(assignment, preparation_report, worker_);
}

void Preparations::abandon() {
  const std::lock_guard lock(mutex_);
  abandon_locked();
}

void Preparations::abandon_locked() {
  if (!newest_) return;
  newest_->abandon();
  abandoned_.push_back(std::exchange(newest_, nullptr));
}

void Preparations::destroy_ended() {
  std::vector<std::shared_ptr<Preparation>> ended;  // destroyed without the lock, because their threads are joined
  const std::lock_guard lock(mutex_);
  std::erase_if(abandoned_, [&](const auto& preparation) {
    if (!preparation->is_over_with_streams()) return false;
    ended.push_back(preparation);
    return true;
  });
}

bool Preparations::is_over(std::int64_t generation) const {
  const auto preparation = of(generation);
  return preparation && preparation->is_over();
}

std::optional<Prepared> Preparations::take(std::int64_t generation) {
  const auto preparation = of(generation);
  return preparation ? preparation->take() : std::nullopt;
}

bool Preparations::delays_switch(std::int64_t generation) const {
  if (const auto preparation = of(generation)) return preparation->delays_switch();
  const std::lock_guard lock(mutex_);
  return newest_generation_ < generation;
}

std::shared_ptr<Preparation> Preparations::of(std::int64_t generation) const {
  const std::lock_guard lock(mutex_);
  return newest_ && newest_->generation() == generation ? newest_ : nullptr;
}

}  // namespace sailor::trainer
