// Checks whether the trainer supports the settings of an assignment. It refuses unsupported settings instead of
// ignoring them.
#pragma once

#include "core/protocol/assignment.h"

namespace sailor::trainer {

// Fails with kInvalidArgument and a sentence that names the setting and what is supported.
Result<void> check_supported(const Assignment& assignment);

}  // namespace sailor::trainer
