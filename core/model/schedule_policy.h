// SchedulePolicy: the rule for caps on microbatches in flight and for the order of passes.
#pragma once

namespace sailor {

enum class SchedulePolicy {
  // Stage i of P stages has at most min(P - i, m) microbatches in flight, where m is the replica's number of
  // microbatches. An idle replica starts backward passes first. DeepSpeed has this cap and order, and the measured runs
  // were executed with them.
  kOneForwardOneBackward,
  // A replica has as many microbatches in flight as it needs to stay busy, also with unequal replicas and slow links.
  // An idle replica that is below its cap starts forward passes first if that makes the step shorter, else backward
  // passes. All replicas of a plan have the same order.
  kFlow,
};

}  // namespace sailor
