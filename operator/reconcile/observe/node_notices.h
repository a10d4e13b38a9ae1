// NodeNotices: remembers since when nodes are about to be terminated, which Kubernetes does not record.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "operator/model/cluster_view.h"

namespace sailor {

// An operator that has just started has seen no notice before. Any thread may call the function.
class NodeNotices {
 public:
  // Sets NodeView::terminating_since of all terminating nodes, and forgets the other nodes.
  void fill_in(ClusterView& view, Time now) {
    const std::lock_guard lock(mutex_);
    std::map<std::string, Time> since;
    for (std::size_t i = 0; i < view.nodes.size(); ++i) {
      if (!view.nodes[i].is_terminating) continue;
      view.nodes.change(view.nodes[i].name, [&](NodeView& node) {
        const auto known = since_.find(node.uid);
        node.terminating_since = since[node.uid] = known == since_.end() ? now : known->second;
      });
    }
    since_ = std::move(since);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Time> since_;  // by the UID of the node
};

}  // namespace sailor
