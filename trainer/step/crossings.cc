#include "trainer/step/crossings.h"

#include <algorithm>

namespace sailor::trainer {

Stretch stretch_of(std::int64_t elements, int k, int n) {
  const std::int64_t length = (elements + n - 1) / n;
  return {std::min(k * length, elements), std::min((k + 1) * length, elements)};
}

std::vector<Crossing> crossings(std::int64_t elements, int senders, int receivers, bool is_dealt) {
  std::vector<Crossing> found;
  const auto add = [&](int sender, int receiver, Stretch stretch) {
    if (stretch.begin < stretch.end) found.push_back({sender, receiver, stretch});
  };
  for (int receiver = 0; receiver < receivers; ++receiver) {
    const Stretch wanted = stretch_of(elements, receiver, receivers);
    if (!is_dealt) add(receiver % senders, receiver, wanted);
    for (int sender = 0; is_dealt && sender < senders; ++sender) {
      const Stretch had = stretch_of(elements, sender, senders);
      add(sender, receiver, {std::max(had.begin, wanted.begin), std::min(had.end, wanted.end)});
    }
  }
  return found;
}

}  // namespace sailor::trainer
