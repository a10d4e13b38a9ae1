// The data structures of the step simulation, compared with simple containers.
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "core/schedule/message_lists.h"
#include "core/schedule/next_events.h"

namespace sailor {
namespace {

TEST(NextEvents, AgreesWithASortedSet) {
  for (const std::size_t workers : {1U, 2U, 7U, 64U, 100U}) {
    std::mt19937_64 random(workers);
    NextEvents turns(workers);
    std::map<std::size_t, std::int64_t> due;
    for (int i = 0; i < 2000; ++i) {
      const std::size_t worker = random() % workers;
      const auto at = static_cast<std::int64_t>(random() % 50);
      const bool is_over = at >= 40;
      turns.set(worker, is_over ? NextEvents::kNever : at);
      is_over ? void(due.erase(worker)) : void(due[worker] = at);
      std::set<std::pair<std::int64_t, std::size_t>> sorted;
      for (const auto& [who, when] : due) sorted.emplace(when, who);
      ASSERT_EQ(turns.earliest(), sorted.empty() ? NextEvents::kNever : sorted.begin()->first);
      if (!sorted.empty()) {
        ASSERT_EQ(turns.first(), sorted.begin()->second);
      }
    }
  }
}

std::vector<int> nodes_of(const MessageLists& lists, const MessageLists::List& list) {
  std::vector<int> nodes;
  for (int node = list.first; node != MessageLists::kNone; node = lists.next(node)) nodes.push_back(node);
  return nodes;
}

TEST(MessageLists, InsertsInAscendingOrderAndAppendsInTheOrderOfCalls) {
  MessageLists lists(8);
  MessageLists::List inputs;
  MessageLists::List waiting;
  for (const int node : {3, 1, 7}) lists.insert(inputs, node, 10 * node);
  for (const int node : {6, 2, 4}) lists.append(waiting, node);
  EXPECT_EQ(nodes_of(lists, inputs), (std::vector<int>{1, 3, 7}));
  EXPECT_EQ(nodes_of(lists, waiting), (std::vector<int>{6, 2, 4}));
  EXPECT_EQ(lists.arrival(7), 70);
  lists.remove(inputs, 3);
  lists.remove(waiting, 6);
  EXPECT_EQ(nodes_of(lists, inputs), (std::vector<int>{1, 7}));
  EXPECT_EQ(nodes_of(lists, waiting), (std::vector<int>{2, 4}));
  for (const int node : {7, 1}) lists.remove(inputs, node);
  lists.insert(inputs, 6, 0);
  EXPECT_EQ(nodes_of(lists, inputs), std::vector<int>{6}) << "it moved from one list to another";
}

}  // namespace
}  // namespace sailor
