#include "core/schedule/schedule.h"

namespace sailor {

std::string_view to_string(OperationKind kind) {
  switch (kind) {
    case OperationKind::kForward:
      return "forward";
    case OperationKind::kBackward:
      return "backward";
    case OperationKind::kSendActivation:
      return "send activation";
    case OperationKind::kReceiveActivation:
      return "receive activation";
    case OperationKind::kSendGradient:
      return "send gradient";
    case OperationKind::kReceiveGradient:
      return "receive gradient";
  }
  return "unknown";
}

}  // namespace sailor
