// CannotTrain: the exception for errors in the job's data, settings or plan, and for non-finite losses. Other peers
// would not solve them, so the worker reports a failure and ends.
#pragma once

#include <stdexcept>

namespace sailor::trainer {

class CannotTrain : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace sailor::trainer
