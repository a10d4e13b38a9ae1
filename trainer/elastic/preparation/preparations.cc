#include "trainer/elastic/preparation/preparations.h"

#include <utility>

namespace sailor::trainer {

void Preparations::begin(const std::shared_ptr<const Assignment>& assignment,
                         const PreparationReport& preparation_report) {
  if (newest_ && newest_->generation() == assignment->generation) return;
  abandon();
  newest_ = std::make_unique<Preparation>(assignment, preparation_report, settings_, mailbox_);
}

void Preparations::abandon() {
  if (!newest_) return;
  newest_->abandon();
  abandoned_.push_back(std::move(newest_));
}

void Preparations::destroy_ended() {
  std::erase_if(abandoned_, [](const auto& preparation) { return preparation->is_over_with_streams(); });
}

bool Preparations::is_over(std::int64_t generation) const {
  return newest_ && newest_->generation() == generation && newest_->is_over();
}

}  // namespace sailor::trainer
