#include "trainer/step/activation_resharding.h"

#include <algorithm>

namespace sailor::trainer {

Interval interval_of(std::int64_t elements, int k, int n) {
  const std::int64_t length = (elements + n - 1) / n;
  return {std::min(k * length, elements), std::min((k + 1) * length, elements)};
}

std::vector<ReshardMessage> reshard_messages(std::int64_t elements, int senders, int receivers,
                                             bool is_sequence_parallel) {
  std::vector<ReshardMessage> messages;
  const auto add = [&](int sender, int receiver, Interval interval) {
    if (interval.begin < interval.end) messages.push_back({sender, receiver, interval});
  };
  for (int receiver = 0; receiver < receivers; ++receiver) {
    const Interval wanted = interval_of(elements, receiver, receivers);
    if (!is_sequence_parallel) add(receiver % senders, receiver, wanted);
    for (int sender = 0; is_sequence_parallel && sender < senders; ++sender) {
      const Interval owned = interval_of(elements, sender, senders);
      add(sender, receiver, {std::max(owned.begin, wanted.begin), std::min(owned.end, wanted.end)});
    }
  }
  return messages;
}

}  // namespace sailor::trainer
