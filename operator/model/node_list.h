// NodeList: the nodes of a ClusterView. Copies share the nodes, so that a view of thousands of them can be kept as it
// was while a few of them change.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "operator/model/node_view.h"

namespace sailor {

class NodeList {
 public:
  class Iterator {
   public:
    using Base = std::vector<std::shared_ptr<const NodeView>>::const_iterator;
    using iterator_category = std::bidirectional_iterator_tag;
    using value_type = NodeView;
    using difference_type = std::ptrdiff_t;
    using pointer = const NodeView*;
    using reference = const NodeView&;

    Iterator() = default;
    explicit Iterator(Base at) : at_(at) {}
    reference operator*() const { return **at_; }
    pointer operator->() const { return at_->get(); }
    Iterator& operator++() { return ++at_, *this; }
    Iterator& operator--() { return --at_, *this; }
    Iterator operator++(int) { return Iterator(at_++); }
    Iterator operator--(int) { return Iterator(at_--); }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    Base at_;
  };

  [[nodiscard]] Iterator begin() const { return Iterator(nodes_.begin()); }
  [[nodiscard]] Iterator end() const { return Iterator(nodes_.end()); }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  [[nodiscard]] bool empty() const { return nodes_.empty(); }
  [[nodiscard]] const NodeView& operator[](std::size_t i) const { return *nodes_[i]; }
  // Returns the node of this name in a list in ascending order of names; null: the list does not have it.
  [[nodiscard]] const NodeView* find(const std::string& name) const;

  void push_back(NodeView node) { nodes_.push_back(std::make_shared<const NodeView>(std::move(node))); }
  void sort();  // by name
  void erase(const std::string& name) {
    std::erase_if(nodes_, [&](const auto& node) { return node->name == name; });
  }
  void clear() { nodes_.clear(); }
  // Changes a node for this list only.
  void replace(std::size_t i, NodeView node) { nodes_[i] = std::make_shared<const NodeView>(std::move(node)); }
  // Calls `change` with a copy of the node of this name, which then replaces it. Returns whether there is one.
  template <class Change>
  bool change(const std::string& name, const Change& change) {
    const std::size_t i = position_of(name);
    if (i == nodes_.size()) return false;
    NodeView node = *nodes_[i];
    change(node);
    replace(i, std::move(node));
    return true;
  }

  template <class Change>
  void change_all(const Change& change) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      NodeView node = *nodes_[i];
      change(node);
      replace(i, std::move(node));
    }
  }

  // Compares the nodes themselves.
  friend bool operator==(const NodeList& one, const NodeList& other);

 private:
  [[nodiscard]] std::size_t position_of(const std::string& name) const;  // size(): the list does not have the node

  std::vector<std::shared_ptr<const NodeView>> nodes_;
};

// The UIDs of nodes. Copies share them.
class NodeUids {
 public:
  NodeUids() = default;
  explicit NodeUids(std::set<std::string> uids)
      : uids_(std::make_shared<const std::set<std::string>>(std::move(uids))) {}

  [[nodiscard]] bool contains(const std::string& uid) const { return uids_ != nullptr && uids_->contains(uid); }
  [[nodiscard]] std::set<std::string> all() const { return uids_ == nullptr ? std::set<std::string>() : *uids_; }

  friend bool operator==(const NodeUids& one, const NodeUids& other) {
    return one.uids_ == other.uids_ || one.all() == other.all();
  }

 private:
  std::shared_ptr<const std::set<std::string>> uids_;  // null: none
};

}  // namespace sailor
