// holders_text(): who has the GPUs that a job waits for.
#pragma once

#include <ranges>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/model/counted.h"

namespace sailor {

// "8 by job default/a, 4 by other pods, 2 by job default/b, and 3 by 2 others": names the first three holders, with
// their member `gpus` and what `name_of` returns for them. Empty if there are none.
template <class Holder, class NameOf>
std::string holders_text(const std::vector<Holder>& holders, const NameOf& name_of) {
  constexpr std::ptrdiff_t kNamed = 3;
  std::string text;
  for (const Holder& holder : holders | std::views::take(kNamed))
    text += fmt::format("{}{} by {}", text.empty() ? "" : ", ", holder.gpus, name_of(holder));
  int more = 0;
  for (const Holder& holder : holders | std::views::drop(kNamed)) more += holder.gpus;
  const std::ptrdiff_t unnamed = std::ssize(holders) - kNamed;
  if (unnamed > 0) text += fmt::format(", and {} by {}", more, counted(unnamed, "other"));
  return text;
}

}  // namespace sailor
