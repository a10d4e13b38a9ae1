#include "operator/model/node_list.h"

#include <algorithm>

namespace sailor {
namespace {

const std::string& name_of(const std::shared_ptr<const NodeView>& node) { return node->name; }

}  // namespace

std::size_t NodeList::position_of(const std::string& name) const {
  const auto found = std::ranges::lower_bound(nodes_, name, {}, name_of);
  const bool is_known = found != nodes_.end() && (*found)->name == name;
  return is_known ? static_cast<std::size_t>(found - nodes_.begin()) : nodes_.size();
}

const NodeView* NodeList::find(const std::string& name) const {
  const std::size_t i = position_of(name);
  return i == nodes_.size() ? nullptr : nodes_[i].get();
}

void NodeList::sort() { std::ranges::sort(nodes_, {}, name_of); }

bool operator==(const NodeList& one, const NodeList& other) {
  return std::ranges::equal(one.nodes_, other.nodes_,
                            [](const auto& left, const auto& right) { return left == right || *left == *right; });
}

}  // namespace sailor
