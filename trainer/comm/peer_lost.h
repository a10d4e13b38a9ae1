// PeerLost: the one exception for every failure of communication. trainer/elastic catches it: in the worker's loop,
// where it ends the generation, and in the threads that stream state.
#pragma once

#include <stdexcept>

namespace sailor::trainer {

class PeerLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace sailor::trainer
