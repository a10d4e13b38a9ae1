// The nodes of a view: copies share them until one of them is changed.
#include "operator/model/node_list.h"

#include <algorithm>
#include <ranges>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sailor {
namespace {

using ::testing::ElementsAre;

NodeView node_with(const std::string& name, int gpus) {
  NodeView node;
  node.name = name;
  node.gpus = gpus;
  return node;
}

NodeList three_nodes() {
  NodeList nodes;
  for (const char* name : {"c", "a", "b"}) nodes.push_back(node_with(name, 2));
  nodes.sort();
  return nodes;
}

std::vector<std::string> names_of(const NodeList& nodes) {
  std::vector<std::string> names;
  for (const NodeView& node : nodes) names.push_back(node.name);
  return names;
}

TEST(NodeList, IsReadInBothDirections) {
  const NodeList nodes = three_nodes();
  EXPECT_THAT(names_of(nodes), ElementsAre("a", "b", "c"));
  std::vector<std::string> reversed;
  for (const NodeView& node : nodes | std::views::reverse) reversed.push_back(node.name);
  EXPECT_THAT(reversed, ElementsAre("c", "b", "a"));
}

TEST(NodeList, FindsNodesByName) {
  const NodeList nodes = three_nodes();
  ASSERT_NE(nodes.find("b"), nullptr);
  EXPECT_EQ(nodes.find("b")->name, "b");
  EXPECT_EQ(nodes.find("bb"), nullptr);
  EXPECT_EQ(NodeList().find("a"), nullptr);
}

TEST(NodeList, ChangeOfACopyLeavesTheOriginal) {
  const NodeList original = three_nodes();
  NodeList copy = original;
  EXPECT_EQ(copy, original);
  EXPECT_TRUE(copy.change("b", [](NodeView& node) { node.gpus = 8; }));
  EXPECT_EQ(copy.find("b")->gpus, 8);
  EXPECT_EQ(original.find("b")->gpus, 2);
  EXPECT_NE(copy, original);
  EXPECT_EQ(copy.find("a"), original.find("a")) << "the others are still shared";
}

TEST(NodeList, UnknownNodeIsNotChanged) {
  NodeList nodes = three_nodes();
  EXPECT_FALSE(nodes.change("d", [](NodeView&) { FAIL() << "there is no such node"; }));
}

}  // namespace
}  // namespace sailor
