// NodeView: a node with GPUs, as one look at the cluster has it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/model/ids.h"
#include "operator/kube/time.h"
#include "operator/model/node_labels.h"

namespace sailor {

struct Taint {
  std::string key;
  std::string value;
  std::string effect;  // "NoSchedule", "NoExecute" or "PreferNoSchedule"
  friend bool operator==(const Taint&, const Taint&) = default;
};

struct NodeView {
  std::string name;
  std::string uid;
  PoolKey pool;
  int gpus = 0;           // allocatable
  bool is_ready = false;  // the Ready condition is True
  bool is_cordoned = false;
  bool is_terminating = false;  // the node has the taint of an impending termination, or is being deleted
  Time terminating_since;       // when the operator first saw that it is terminating
  std::shared_ptr<const std::map<std::string, std::string>> labels;  // shared by all copies of the view; null: none
  std::vector<Taint> taints;
  Time heartbeat;  // the newest lastHeartbeatTime of the node's conditions
  // The number of GPUs in use, by the UID of the job. The key "" stands for all pods that do not belong to a job. The
  // number for a job includes the GPUs that its record claims.
  std::map<std::string, int> used;
  friend bool operator==(const NodeView&, const NodeView&) = default;

  [[nodiscard]] int used_gpus() const;  // may be more than `gpus`, because claims count
  [[nodiscard]] int used_by_others(const std::string& job_uid) const;
  [[nodiscard]] int gpus_left_to(const std::string& job_uid) const;  // those that the job uses, and those of nobody
  // Whether a new pod may run on the node, if the pod fits and tolerates it.
  [[nodiscard]] bool takes_pods() const { return is_ready && !is_cordoned && !is_terminating; }
  // Whether somebody in the cluster is about to remove the node, and not its cloud.
  [[nodiscard]] bool is_removed_on_purpose() const;
  [[nodiscard]] const std::string* find_label(const std::string& label) const;  // null: the node does not have it
  [[nodiscard]] bool has_labels(const Labels& wanted) const {
    return labels == nullptr ? wanted.empty() : has_all(*labels, wanted);
  }
};

}  // namespace sailor
