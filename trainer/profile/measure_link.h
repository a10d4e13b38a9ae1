// Measures what two workers get of the network between them, for the network model and the execution model of the
// simulator.
#pragma once

#include <memory>

#include "core/model/execution_model.h"
#include "core/model/network_model.h"
#include "trainer/comm/group.h"

namespace sailor::trainer {

// What a generation has between two workers. One group may serve for both.
struct LinkGroups {
  Group& messages;
  Group& sums;  // of gradients
};

// Both workers of the group, ranks 0 and 1, call this function. Both get the same result. The price of the returned
// link is 0. The messages are tensors of the compute device, as in training.
Link measure_link(Group& messages, int rank);

// The compute that a measurement runs beside communication, and the clock that times both.
class TimedCompute {
 public:
  virtual ~TimedCompute() = default;
  // Computes `parts` equal parts, at least 1, before it returns.
  virtual void run(int parts) = 0;
  [[nodiscard]] virtual Seconds now() const = 0;
};

// Multiplies matrices, timed by the steady clock.
std::unique_ptr<TimedCompute> matrix_products();

// Measures whether messages and sums of gradients run beside compute, and which part of the link's rate sums reach. The
// other figures of the model are those of the default. Both workers call this function and get the same result.
ExecutionModel measure_execution(const LinkGroups& groups, int rank, const Link& link, TimedCompute& compute);

}  // namespace sailor::trainer
