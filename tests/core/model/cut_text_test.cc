#include "core/model/cut_text.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sailor {
namespace {

TEST(CutText, ShortTextsStayAsTheyAre) {
  EXPECT_EQ(cut_text("", 10), "");
  EXPECT_EQ(cut_text("exactly 10", 10), "exactly 10");
}

TEST(CutText, LongTextsEndWithThreeDots) {
  EXPECT_EQ(cut_text("eleven byte", 10), "eleven ...");
  EXPECT_EQ(cut_text("abcdef", 2), "ab") << "there is no room for the dots";
}

TEST(CutText, NoCharacterIsCutInTwo) {
  const std::string text = "caf\xC3\xA9 \xE2\x82\xAC 5, \xF0\x9F\x9A\x80 and more";
  for (std::size_t bytes = 0; bytes <= text.size(); ++bytes) {
    const std::string cut = cut_text(text, bytes);
    EXPECT_LE(cut.size(), bytes);
    EXPECT_NO_THROW((void)nlohmann::json(cut).dump()) << bytes;
  }
}

TEST(CutText, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(cut_text("a\xFF"
                     "b\xC3",
                     10),
            "a?b?");
  EXPECT_EQ(cut_text("\xED\xA0\x80", 10), "???") << "half of a surrogate pair";
  EXPECT_EQ(cut_text("\xC0\xAF", 10), "??") << "an overlong form";
}

}  // namespace
}  // namespace sailor
