// Text never becomes markup.
#include "report/markup.h"

#include <gtest/gtest.h>

#include "report/utf8.h"
#include "tests/report/xml.h"

namespace sailor::report {
namespace {

using sailor::testing::parse_xml;

TEST(Markup, TextStaysText) {
  const std::string hostile = "</p><script>alert('1' & \"2\")</script><!-- ]]>";
  const auto root = parse_xml(Element("p", {{"title", hostile}}).text(hostile).str());
  ASSERT_NE(root, nullptr);
  EXPECT_EQ(root->text, hostile);
  EXPECT_EQ(root->attributes.at("title"), hostile);
  EXPECT_TRUE(root->children.empty());
}

TEST(Markup, InvalidBytesAreReplaced) {
  const std::string broken = std::string("a\x01") + "b\xFF" + "c\xC0\x80" + "d\xED\xA0\x80" + "e\xE2\x82";
  const auto root = parse_xml(Element("p").text(broken).str());
  ASSERT_NE(root, nullptr);
  EXPECT_EQ(root->text.find('\x01'), std::string::npos);
  for (const char letter : std::string("abcde")) EXPECT_NE(root->text.find(letter), std::string::npos) << letter;
}

TEST(Markup, TextOfAllLanguagesIsKept) {
  for (const std::string text : {"Übung µs", "日本語", "🚢", "tab\tand\nline"}) EXPECT_EQ(printable(text), text);
}

TEST(Markup, ChildrenAreKeptInOrder) {
  const auto root = parse_xml(Element("ul").add(Element("li").text("1")).add(Element("li").text("2")).str());
  ASSERT_NE(root, nullptr);
  ASSERT_EQ(root->children.size(), 2U);
  EXPECT_EQ(root->children[1]->text, "2");
}

TEST(Markup, CoordinatesAreShortAndNeverExponents) {
  EXPECT_EQ(coordinate(3), "3");
  EXPECT_EQ(coordinate(1.0 / 3), "0.33");
  EXPECT_EQ(coordinate(-0.001), "0");
  EXPECT_EQ(coordinate(1e9), "1000000000");
  EXPECT_EQ(coordinate(2.5), "2.5");
}

TEST(MarkupDeathTest, AStyleSheetWithMarkupAborts) {
  Element style("style");
  EXPECT_DEATH(style.style_sheet("</style>"), "a style sheet with '<' or '&'");
}

}  // namespace
}  // namespace sailor::report
