#include "operator/model/scale_up.h"

#include <utility>

#include "core/model/cut_text.h"

namespace sailor {
namespace {

using kube::text_at;

constexpr std::size_t kLongestMessage = 300;  // it names every pool that does not fit

std::optional<ScaleUp::Outcome> outcome_of(const std::string& reason) {
  if (reason == "TriggeredScaleUp") return ScaleUp::Outcome::kTriggered;
  if (reason == "FailedScaleUp") return ScaleUp::Outcome::kFailed;
  if (reason == "NotTriggerScaleUp") return ScaleUp::Outcome::kNotTriggered;
  return std::nullopt;
}

}  // namespace

std::optional<ScaleUp> scale_up_from(const kube::Json& event) {
  const auto outcome = outcome_of(text_at(event, {"reason"}));
  if (!outcome) return std::nullopt;
  return ScaleUp{*outcome, cut_text(text_at(event, {"message"}), kLongestMessage), kube::event_time(event)};
}

std::optional<ScaleUp> newer(std::optional<ScaleUp> one, std::optional<ScaleUp> other) {
  if (!one || !other) return one ? std::move(one) : std::move(other);
  return other->at >= one->at ? std::move(other) : std::move(one);
}

}  // namespace sailor
