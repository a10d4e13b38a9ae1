// CannotTrain: the exception for errors of the job itself (its data or settings), which other peers or another plan
// would not solve.
#pragma once

#include <stdexcept>

namespace sailor::trainer {

class CannotTrain : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace sailor::trainer
