// Checks the settings of an assignment. The trainer refuses unsupported settings with a reason instead of ignoring
// them.
#pragma once

#include "core/protocol/assignment.h"

namespace sailor::trainer {

Result<void> check_supported(const Assignment& assignment);

}  // namespace sailor::trainer
