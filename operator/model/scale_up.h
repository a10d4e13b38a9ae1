// ScaleUp: what the autoscaler of the cluster has said last about a pod that waits for a node. It says so in Events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "operator/kube/object.h"
#include "operator/kube/time.h"

namespace sailor {

// The sources of such Events.
inline constexpr const char* kClusterAutoscaler = "cluster-autoscaler";
inline constexpr const char* kKarpenter = "karpenter";

struct ScaleUp {
  enum class Outcome : std::uint8_t {
    kTriggered,     // a node is being made
    kFailed,        // the cloud did not give it
    kNotTriggered,  // no pool can give one now
  };
  Outcome outcome = Outcome::kTriggered;
  std::string message;
  Time at;
  friend bool operator==(const ScaleUp&, const ScaleUp&) = default;
};

// Returns whether the Event comes from an autoscaler and says something about a new node.
bool is_about_new_node(const kube::Json& event);

// Call this for such Events only, which need not have their source any more: the scheduler has the reason
// FailedScheduling too.
ScaleUp scale_up_from(const kube::Json& event);

// Returns the later one.
std::optional<ScaleUp> newer(std::optional<ScaleUp> one, std::optional<ScaleUp> other);

}  // namespace sailor
