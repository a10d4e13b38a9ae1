// How many microbatches a replica should have in flight, from what it waits for. One home for the rule: the schedule
// obeys it, the simulator counts memory by it.
#pragma once

namespace sailor {

// `little` is L = m (t + what happens downstream) / (the longest m t of the plan), by Little's law what a replica needs
// to stay busy if all went evenly. `is_textbook`: equal pipelines over free links, where L suffices.
int flow_in_flight(double little, bool is_textbook, bool is_last_stage);

}  // namespace sailor
