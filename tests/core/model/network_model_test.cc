#include "core/model/network_model.h"

#include <gtest/gtest.h>

namespace sailor {
namespace {

NetworkTier tier_of(const char* from, const char* to) {
  return tier_between(Location::of(Zone(from)), Location::of(Zone(to)));
}

TEST(NetworkModel, TheSmallestCommonAreaDecidesTheTier) {
  EXPECT_EQ(tier_of("us-central1-a", "us-central1-a"), NetworkTier::kZone);
  EXPECT_EQ(tier_of("us-central1-a", "us-central1-b"), NetworkTier::kRegion);
  EXPECT_EQ(tier_of("us-central1-a", "us-west1-b"), NetworkTier::kContinent);
  EXPECT_EQ(tier_of("us-central1-a", "europe-west4-a"), NetworkTier::kWorld);
}

TEST(NetworkModel, ZonesOfOtherCloudsHaveRegionsToo) {
  EXPECT_EQ(region_of(Zone("us-east-1a")), Region("us-east-1"));
  EXPECT_EQ(region_of(Zone("westeurope-1")), Region("westeurope"));
  EXPECT_EQ(region_of(Zone("eastus2-3")), Region("eastus2"));
  EXPECT_EQ(region_of(Zone("default")), Region("default"));
  EXPECT_EQ(region_of(Zone("rack-12")), Region("rack"));
  EXPECT_EQ(tier_of("us-east-1a", "us-east-1b"), NetworkTier::kRegion);
  EXPECT_EQ(tier_of("us-east-1a", "us-west-2a"), NetworkTier::kContinent);
}

TEST(NetworkModel, AStatedRegionCountsNotTheNameOfTheZone) {
  const Location rack{Zone("rack1"), Region("lab")};
  EXPECT_EQ(tier_between(rack, {Zone("rack2"), Region("lab")}), NetworkTier::kRegion);
  EXPECT_EQ(tier_between(rack, {Zone("rack1-b"), Region("lab-2")}), NetworkTier::kContinent);
  EXPECT_EQ(tier_between({Zone("us-a-1"), Region("us-a")}, {Zone("us-b-1"), Region("eu-b")}), NetworkTier::kWorld);
}

TEST(NetworkModel, AnOverrideAppliesInBothDirections) {
  NetworkModel network = google_cloud_network();
  const Link slow{gigabytes_per_second(0.1), Seconds(0.2), dollars_per_gigabyte(0.08)};
  network.pairs.push_back({Zone("us-central1-a"), Zone("us-west1-b"), slow});
  EXPECT_EQ(network.between(Location::of(Zone("us-central1-a")), Location::of(Zone("us-west1-b"))), slow);
  EXPECT_EQ(network.between(Location::of(Zone("us-west1-b")), Location::of(Zone("us-central1-a"))), slow);
  EXPECT_NE(network.between(Location::of(Zone("us-central1-a")), Location::of(Zone("us-west1-a"))), slow);
}

TEST(NetworkModel, FartherIsNeverFasterNorCheaper) {
  const NetworkModel network = google_cloud_network();
  for (std::size_t tier = 1; tier < network.tiers.size(); ++tier) {
    EXPECT_LE(network.tiers[tier].bandwidth, network.tiers[tier - 1].bandwidth);
    EXPECT_GE(network.tiers[tier].latency, network.tiers[tier - 1].latency);
    EXPECT_GE(network.tiers[tier].price, network.tiers[tier - 1].price);
  }
}

TEST(Units, AGigabyteAtHalfAGigabyteASecondTakesTwoSecondsAndTheLatency) {
  const Link link{gigabytes_per_second(0.5), Seconds(0.25), dollars_per_gigabyte(0.02)};
  EXPECT_DOUBLE_EQ(link.transfer(Bytes(1e9)).value(), 2.25);
  EXPECT_DOUBLE_EQ((link.price * Bytes(5e9)).value(), 0.1);
  EXPECT_DOUBLE_EQ((DollarsPerHour(7.2) * Seconds(1)).value(), 0.002);
}

TEST(Units, DollarsOverSecondsAreAnHourlyPriceAndOverAPriceTheSecondsThatTheyBuy) {
  EXPECT_DOUBLE_EQ((Dollars(0.002) / Seconds(1)).value(), 7.2);
  EXPECT_DOUBLE_EQ((Dollars(0.002) / DollarsPerHour(7.2)).value(), 1);
}

}  // namespace
}  // namespace sailor
