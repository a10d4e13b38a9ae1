// The agent's side of the protocol: which assignments it accepts and passes to its workers. A worker sees only the
// newest accepted assignment (assignment_mailbox.h).
#pragma once

#include <cstdint>

namespace sailor::trainer {

// `taken`: the newest generation that the agent has accepted; 0: none. A repeated or late message changes nothing.
inline bool takes(std::int64_t taken, std::int64_t offered) { return offered > taken; }

}  // namespace sailor::trainer
