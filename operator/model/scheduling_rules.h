// SchedulingRules: the nodes on which the scheduler would put a pod, as far as taints, nodeSelector and node affinity
// decide it. Readiness, resources and preferences do not count.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "operator/model/node_view.h"

namespace sailor {

class SchedulingRules {
 public:
  // `pod_spec` needs only the fields tolerations, nodeSelector and affinity.
  explicit SchedulingRules(const kube::Json& pod_spec);

  friend bool operator==(const SchedulingRules&, const SchedulingRules&) = default;

  [[nodiscard]] bool accept(const NodeView& node) const;
  // Says which nodes are not accepted, as in "with the taint a=b:NoSchedule, which ...". Empty: the node is accepted.
  [[nodiscard]] std::string obstacle(const NodeView& node) const;
  // accept() for a node that does not exist yet: only the labels that are known to be on it count, and it has no taints
  // but those that every trainer pod tolerates.
  [[nodiscard]] bool accept_future_node(const Labels& labels) const;

 private:
  struct Toleration {
    std::string key;  // empty: any
    std::string value;
    std::string effect;   // empty: any
    bool exists = false;  // any value
    friend bool operator==(const Toleration&, const Toleration&) = default;
  };
  [[nodiscard]] bool tolerate(const Taint& taint) const;
  [[nodiscard]] const Taint* find_untolerated(const NodeView& node) const;  // null: all taints are tolerated
  [[nodiscard]] bool affinity_matches(const NodeView& node) const;

  std::vector<Toleration> tolerations_;
  std::map<std::string, std::string> selector_;
  bool has_affinity_ = false;
  std::vector<kube::Json> affinity_terms_;
};

}  // namespace sailor
