// The agent's side of the protocol: the rule by which an agent accepts assignments and passes them to its workers. A
// worker sees only the newest accepted assignment (assignment_mailbox.h).
#pragma once

#include <cstdint>

namespace sailor::trainer {

// Returns true if the agent accepts generation `offered`. `accepted` is the newest generation that it has accepted, or
// 0. So a repeated or late message changes nothing.
inline bool accepts(std::int64_t accepted, std::int64_t offered) { return offered > accepted; }

}  // namespace sailor::trainer
