// ScaleUp: what the cluster autoscaler has said last about a pod that waits for a node. It says so in Events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "operator/kube/object.h"
#include "operator/kube/time.h"

namespace sailor {

inline constexpr const char* kAutoscalerName = "cluster-autoscaler";  // the source of its Events

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

// Returns nothing for an Event that says nothing about a new node.
std::optional<ScaleUp> scale_up_from(const kube::Json& event);

// Returns the later one.
std::optional<ScaleUp> newer(std::optional<ScaleUp> one, std::optional<ScaleUp> other);

}  // namespace sailor
