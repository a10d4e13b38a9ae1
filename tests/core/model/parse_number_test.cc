#include "core/model/parse_number.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace sailor {
namespace {

TEST(ParseNumber, ReadsAWholeTextOnly) {
  EXPECT_EQ(parse_number<int>("42"), 42);
  EXPECT_EQ(parse_number<int>("-7"), -7);
  EXPECT_EQ(parse_number<int>("007"), 7);
  for (const char* text : {"", " 42", "42 ", "+42", "4x", "x", "-", "4.0"}) {
    EXPECT_EQ(parse_number<int>(text), std::nullopt) << '"' << text << '"';
  }
}

TEST(ParseNumber, RefusesWhatTheTypeCannotHold) {
  EXPECT_EQ(parse_number<std::uint8_t>("255"), 255);
  EXPECT_EQ(parse_number<std::uint8_t>("256"), std::nullopt);
  EXPECT_EQ(parse_number<unsigned>("-1"), std::nullopt);
}

}  // namespace
}  // namespace sailor
