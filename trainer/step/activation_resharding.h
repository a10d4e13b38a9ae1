// Decides which messages carry an activation or gradient from the tensor-parallel group of one stage to the group of
// the neighbouring stage. The groups may differ in size. Every element is sent once. These are pure functions without
// tensors.
#pragma once

#include <cstdint>
#include <vector>

namespace sailor::trainer {

struct Interval {  // the elements [begin, end) of a flattened tensor
  std::int64_t begin = 0;
  std::int64_t end = 0;
  friend bool operator==(const Interval&, const Interval&) = default;

  [[nodiscard]] std::int64_t size() const { return end - begin; }
};

struct ReshardMessage {  // the only message of this tensor between these two workers
  int sender = 0;        // index in the sending group
  int receiver = 0;      // index in the receiving group
  Interval interval;
  friend bool operator==(const ReshardMessage&, const ReshardMessage&) = default;
};

// Divides a tensor into n intervals of equal length and returns the k-th. If n does not divide the number of elements,
// the last intervals are shorter or empty.
Interval interval_of(std::int64_t elements, int k, int n);

// Returns the messages with which each receiver gets its interval of the tensor. With sequence parallelism each sender
// has only its own interval, and sends the overlap of the two. Without sequence parallelism every sender has the whole
// tensor, and the senders serve the receivers in turn.
std::vector<ReshardMessage> reshard_messages(std::int64_t elements, int senders, int receivers,
                                             bool is_sequence_parallel);

}  // namespace sailor::trainer
