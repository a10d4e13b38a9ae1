// What this trainer refuses, and why: a setting that it does not know how to honour is never ignored.
#pragma once

#include "core/protocol/assignment.h"

namespace sailor::trainer {

Result<void> check_supported(const Assignment& assignment);

}  // namespace sailor::trainer
