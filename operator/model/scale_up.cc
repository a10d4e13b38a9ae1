#include "operator/model/scale_up.h"

#include <algorithm>
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

// An Event that is repeated is updated. Which field says when depends on the library that wrote it.
Time newest_time(const kube::Json& event) {
  Time newest;
  for (const std::string& text :
       {text_at(event, {"firstTimestamp"}), text_at(event, {"lastTimestamp"}), text_at(event, {"eventTime"}),
        text_at(event, {"series", "lastObservedTime"}), text_at(event, {"metadata", "creationTimestamp"})}) {
    newest = std::max(newest, parse_rfc3339(text).value_or(Time()));
  }
  return newest;
}

}  // namespace

std::optional<ScaleUp> scale_up_from(const kube::Json& event) {
  const auto outcome = outcome_of(text_at(event, {"reason"}));
  if (!outcome) return std::nullopt;
  return ScaleUp{*outcome, cut_text(text_at(event, {"message"}), kLongestMessage), newest_time(event)};
}

std::optional<ScaleUp> newer(std::optional<ScaleUp> one, std::optional<ScaleUp> other) {
  if (!one || !other) return one ? std::move(one) : std::move(other);
  return other->at >= one->at ? std::move(other) : std::move(one);
}

}  // namespace sailor
