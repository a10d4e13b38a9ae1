// CannotTrain: a reason that lies in the job itself (its data, its settings), so that no other peer or plan would help.
#pragma once

#include <stdexcept>

namespace sailor::trainer {

class CannotTrain : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace sailor::trainer
