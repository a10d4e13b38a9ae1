#include "operator/model/node_view.h"

#include <algorithm>
#include <numeric>

namespace sailor {

int NodeView::used_gpus() const {
  return std::accumulate(used.begin(), used.end(), 0, [](int sum, const auto& user) { return sum + user.second; });
}

int NodeView::used_by_others(const std::string& job_uid) const {
  int sum = 0;
  for (const auto& [owner, count] : used) sum += owner == job_uid ? 0 : count;
  return sum;
}

int NodeView::gpus_left_to(const std::string& job_uid) const { return std::max(0, gpus - used_by_others(job_uid)); }

bool NodeView::is_removed_on_purpose() const {
  return is_cordoned || std::ranges::find(taints, kAutoscalerTaint, &Taint::key) != taints.end();
}

const std::string* NodeView::find_label(const std::string& label) const {
  if (labels == nullptr) return nullptr;
  const auto found = labels->find(label);
  return found == labels->end() ? nullptr : &found->second;
}

}  // namespace sailor
