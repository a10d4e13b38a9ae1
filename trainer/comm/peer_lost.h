// PeerLost: the one exception for every failure of communication. Only the worker's loop over generations
// (trainer/elastic) and the command-line tools catch it.
#pragma once

#include <stdexcept>

namespace sailor::trainer {

class PeerLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace sailor::trainer
