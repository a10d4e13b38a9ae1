// PeerLost: the one exception with which every failure of communication surfaces. Caught by the elastic loop only.
#pragma once

#include <stdexcept>

namespace sailor::trainer {

class PeerLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace sailor::trainer
