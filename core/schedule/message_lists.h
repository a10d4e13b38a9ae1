// MessageLists: linked lists of messages. One kind of list holds the messages that wait for their pass, sorted by
// microbatch; the other kind holds the messages that wait for a buffer, in the order of sending. A message is in one
// list at a time, so all lists share one array of nodes.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

namespace sailor {

class MessageLists {
 public:
  static constexpr int kNone = -1;

  struct List {
    int first = kNone;
    int last = kNone;
  };

  explicit MessageLists(std::size_t nodes, std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : nodes_(nodes, memory) {}

  [[nodiscard]] std::int64_t arrival(int node) const { return at(node).arrival; }
  [[nodiscard]] int next(int node) const { return at(node).next; }

  // Inserts in ascending order of nodes. Most messages come in the order of their microbatches, so the search for the
  // place starts at the end.
  void insert(List& list, int node, std::int64_t arrival) {
    int after = list.last;
    while (after > node) after = at(after).previous;
    const int before = after == kNone ? list.first : at(after).next;
    at(node) = {arrival, before, after};
    (after == kNone ? list.first : at(after).next) = node;
    (before == kNone ? list.last : at(before).previous) = node;
  }

  void remove(List& list, int node) {
    const Node& removed = at(node);
    (removed.previous == kNone ? list.first : at(removed.previous).next) = removed.next;
    (removed.next == kNone ? list.last : at(removed.next).previous) = removed.previous;
  }

  void append(List& list, int node) {
    at(node) = {0, kNone, list.last};
    (list.last == kNone ? list.first : at(list.last).next) = node;
    list.last = node;
  }

 private:
  struct Node {
    std::int64_t arrival;
    int next;
    int previous;
  };

  [[nodiscard]] Node& at(int node) { return nodes_[static_cast<std::size_t>(node)]; }
  [[nodiscard]] const Node& at(int node) const { return nodes_[static_cast<std::size_t>(node)]; }

  std::pmr::vector<Node> nodes_;
};

}  // namespace sailor
