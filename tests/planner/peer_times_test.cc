// Compares our times of the peers' plans with those of their own simulator, with the profiles that they used. Reads
// data that is not part of the repository and skips if it is absent.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <gtest/gtest.h>

#include "core/manifest/files.h"
#include "core/model/plan_json.h"
#include "simulator/simulator.h"

namespace sailor {
namespace {

const std::filesystem::path kData = std::filesystem::path(SAILOR_SOURCE_DIR) / "../shared/data";

bool names_an_effect(const Estimate& estimate) {
  for (const std::string& note : estimate.notes) {
    const auto at = note.find("the Sailor paper's formula gives");
    if (at != std::string::npos && note.find(": ", at) != std::string::npos) return true;
  }
  return false;
}

TEST(PeerTimes, AFeasiblePlanTakesWithinAQuarterOfThePeersTimeOrTheEffectIsNamed) {
  if (!std::filesystem::exists(kData / "peer-plans")) GTEST_SKIP() << kData << " is not here";
  const ProfileBook profiles = read_profiles(kData / "sailor-artifact").value();
  const NetworkMeasurements measured = read_network_measurements(kData / "sailor-artifact").value();
  int plans = 0;
  int near = 0;
  for (const auto& folder : std::filesystem::directory_iterator(kData / "peer-plans")) {
    const JobSpec job = read_job(folder.path() / "job.yaml").value();
    ClusterFile file = read_cluster(folder.path() / "cluster.yaml").value();
    file.network.measured = measured;
    const Simulator simulator(profiles, file.network);
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() != ".json") continue;
      std::ifstream stream(entry.path());
      const Json json = Json::parse(stream);
      const Plan plan = plan_from_json(json.at("plan")).value();
      const Estimate ours = simulator.simulate(job, file.cluster, plan).value();
      if (!ours.fits()) continue;
      ++plans;
      const double ratio = ours.throughput() / json.at("peer").at("iterationsPerSecond").get<double>();
      const bool is_near = ratio > 1 / 1.25 && ratio < 1 / 0.75;
      near += is_near ? 1 : 0;
      EXPECT_TRUE(is_near || names_an_effect(ours)) << entry.path() << ": " << ratio << " times the peer's throughput";
    }
  }
  std::cout << near << " of " << plans << " feasible plans are within a quarter of the peer's time\n";
  EXPECT_GT(near, plans / 2);
}

}  // namespace
}  // namespace sailor
