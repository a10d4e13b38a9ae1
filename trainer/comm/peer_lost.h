// PeerLost: the exception for every failure of communication. The cause may be a lost peer, a timeout, a rendezvous
// store that cannot be reached, or an interrupt (interrupt.h) because a newer generation is known. trainer/elastic
// catches the exception in two places: in the worker's loop, where it ends the generation, and in the threads that
// stream state.
#pragma once

#include <stdexcept>

namespace sailor::trainer {

class PeerLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace sailor::trainer
