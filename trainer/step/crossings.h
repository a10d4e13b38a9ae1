// Crossings: how an activation or gradient comes from one tensor-parallel group to that of the neighbouring stage,
// whatever their degrees: every element once. Pure, without tensors.
#pragma once

#include <cstdint>
#include <vector>

namespace sailor::trainer {

struct Stretch {  // elements [begin, end) of the flat tensor
  std::int64_t begin = 0;
  std::int64_t end = 0;
  friend bool operator==(const Stretch&, const Stretch&) = default;

  [[nodiscard]] std::int64_t size() const { return end - begin; }
};

struct Crossing {  // one message, between two workers that have no other of the same tensor
  int sender = 0;  // shards of the groups
  int receiver = 0;
  Stretch stretch;
  friend bool operator==(const Crossing&, const Crossing&) = default;
};

// The k-th of n stretches of equal length, but that the last ones are shorter or empty where n does not divide.
Stretch stretch_of(std::int64_t elements, int k, int n);

// Each receiver gets its stretch. Where every sender has the whole tensor, they take turns with the receivers; where it
// is dealt over them, each sends of its own stretch.
std::vector<Crossing> crossings(std::int64_t elements, int senders, int receivers, bool is_dealt);

}  // namespace sailor::trainer
