// CannotCommunicate: the exception for failures of this worker's own in communication: out of memory, wrong arguments,
// an error of the GPU, two workers on one GPU. Other peers would not solve them, so the worker reports a failure and
// ends. CommunicationError is the exception for all that other peers may solve.
#pragma once

#include <stdexcept>

namespace sailor::trainer {

class CannotCommunicate : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace sailor::trainer
