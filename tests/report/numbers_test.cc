// Formatting of numbers for people.
#include "report/numbers.h"

#include <gtest/gtest.h>

namespace sailor::report {
namespace {

TEST(Numbers, CountsHaveSeparatorsAndNounsHavePlurals) {
  EXPECT_EQ(counted(999), "999");
  EXPECT_EQ(counted(1234567), "1,234,567");
  EXPECT_EQ(counted(1, "stage"), "1 stage");
  EXPECT_EQ(counted(1024, "stage"), "1,024 stages");
}

TEST(Numbers, SignificantDigitsNeverBecomeExponents) {
  EXPECT_EQ(significant(0), "0");
  EXPECT_EQ(significant(0.47619), "0.476");
  EXPECT_EQ(significant(1e-5), "0.00001");
  EXPECT_EQ(significant(1234567), "1,234,567");
  EXPECT_EQ(significant(100), "100");
  EXPECT_EQ(significant(-2.5), "-2.5");
}

TEST(Numbers, QuantitiesHaveAFittingUnit) {
  EXPECT_EQ(memory_text(gibibytes(15.23)), "15.2 GiB");
  EXPECT_EQ(memory_text(Bytes(512)), "512 B");
  EXPECT_EQ(traffic_text(Bytes(3.4e9)), "3.4 GB");
  EXPECT_EQ(traffic_text(Bytes(0)), "0 B");
  EXPECT_EQ(duration(Seconds(0)), "0 s");
  EXPECT_EQ(duration(Seconds(2.96e-9)), "0 s");
  EXPECT_EQ(duration(Seconds(8.5e-4)), "850 µs");
  EXPECT_EQ(duration(Seconds(0.0123)), "12.3 ms");
  EXPECT_EQ(duration(Seconds(100)), "100 s");
  EXPECT_EQ(duration(Seconds(600)), "10 min");
  EXPECT_EQ(duration(Seconds(30 * 3600)), "30 h");
  EXPECT_EQ(duration(Seconds(5 * 86400)), "5 days");
}

TEST(Numbers, MoneyHasCentsFromADollarOn) {
  EXPECT_EQ(money(0), "$0");
  EXPECT_EQ(money(205.7), "$205.70");
  EXPECT_EQ(money(12345.678), "$12,345.68");
  EXPECT_EQ(money(0.01234), "$0.0123");
}

TEST(Numbers, PercentagesHaveDecimalsOnlyNearZeroAndNearAHundred) {
  EXPECT_EQ(percent(0.9998), "99.98 %");
  EXPECT_EQ(percent(0.865), "86 %");
  EXPECT_EQ(percent(0.0042), "0.42 %");
  EXPECT_EQ(percent(1), "100 %");
}

}  // namespace
}  // namespace sailor::report
