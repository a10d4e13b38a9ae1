// CommunicationError: the exception that ends an exchange with other workers. Usually something has failed: a peer is
// lost, a timeout has passed, or the rendezvous store cannot be reached. It is also thrown when the exchange is ended
// on purpose: by an interrupt (interrupt.h) because a newer generation is known, or because the agent is gone. Callers
// need not tell these cases apart: the generation or the state stream is over, and the worker keeps its state. The
// worker's main loop (elastic/worker/worker.cc) then looks for a newer generation. For failures of the worker's own see
// cannot_communicate.h.
#pragma once

#include <stdexcept>

namespace sailor::trainer {

class CommunicationError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace sailor::trainer
