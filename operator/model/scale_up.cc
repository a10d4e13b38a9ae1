#include "operator/model/scale_up.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/model/check.h"
#include "core/model/cut_text.h"

namespace sailor {
namespace {

using kube::text_at;

constexpr std::size_t kLongestMessage = 300;  // it names every pool that does not fit

struct Word {
  std::string_view source;
  std::string_view reason;
  ScaleUp::Outcome outcome;
};

constexpr Word kWords[] = {{kClusterAutoscaler, "TriggeredScaleUp", ScaleUp::Outcome::kTriggered},
                           {kClusterAutoscaler, "FailedScaleUp", ScaleUp::Outcome::kFailed},
                           {kClusterAutoscaler, "NotTriggerScaleUp", ScaleUp::Outcome::kNotTriggered},
                           {kKarpenter, "Nominated", ScaleUp::Outcome::kTriggered},
                           {kKarpenter, "FailedScheduling", ScaleUp::Outcome::kNotTriggered}};

}  // namespace

bool is_about_new_node(const kube::Json& event) {
  std::string source = text_at(event, {"source", "component"});
  if (source.empty()) source = text_at(event, {"reportingComponent"});
  const std::string reason = text_at(event, {"reason"});
  return std::ranges::any_of(kWords, [&](const Word& word) { return word.source == source && word.reason == reason; });
}

ScaleUp scale_up_from(const kube::Json& event) {
  const auto* word = std::ranges::find(kWords, text_at(event, {"reason"}), &Word::reason);
  SAILOR_CHECK(word != std::end(kWords), "an Event with the reason {} is not about a new node",
               text_at(event, {"reason"}));
  return {word->outcome, cut_text(text_at(event, {"message"}), kLongestMessage), kube::event_time(event)};
}

std::optional<ScaleUp> newer(std::optional<ScaleUp> one, std::optional<ScaleUp> other) {
  if (!one || !other) return one ? std::move(one) : std::move(other);
  return other->at >= one->at ? std::move(other) : std::move(one);
}

}  // namespace sailor
