// Compares profiles that are computed from data sheets with measured ones. Reads data that is not part of the
// repository and skips if it is absent.
#include <cmath>
#include <filesystem>
#include <iostream>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/manifest/files.h"
#include "core/model/model_spec.h"
#include "simulator/analytic_profile.h"

namespace sailor {
namespace {

const std::filesystem::path kArtifact = std::filesystem::path(SAILOR_SOURCE_DIR) / "../shared/data/sailor-artifact";

// Collects, as logarithms, the ratios analytic / measured of a microbatch's time through all blocks and back.
struct Ratios {
  double sum = 0;
  double absolute = 0;
  int count = 0;

  void add(double ratio) {
    sum += std::log(ratio);
    absolute += std::abs(std::log(ratio));
    ++count;
  }
  [[nodiscard]] double mean() const { return std::exp(sum / count); }
  [[nodiscard]] double factor() const { return std::exp(absolute / count); }
};

JobSpec job_of(const ModelProfile& profile) {
  JobSpec job;
  job.model = find_model(profile.model).value();
  job.training.sequence_length = profile.sequence_length;
  job.training.precision = profile.precision;
  return job;
}

void compare(const ModelProfile& profile, Ratios& ratios) {
  const JobSpec job = job_of(profile);
  const AcceleratorSpec accelerator = *find_accelerator(profile.accelerator);
  for (const auto& [point, layers] : profile.times) {
    Seconds measured(0);
    Seconds computed(0);
    for (int layer = 0; layer < job.model.layer_count() && layer < std::ssize(layers); ++layer) {
      if (layer_kind(job.model, layer) != LayerKind::kBlock) continue;  // some profiles leave the head's product out
      const LayerTime& time = layers[static_cast<std::size_t>(layer)];
      const LayerTime analytic = analytic_layer_time(job.model, job.training, accelerator, point, layer);
      measured += time.forward + time.backward;
      computed += analytic.forward + analytic.backward;
    }
    if (measured > Seconds(0)) ratios.add(computed / measured);
  }
}

TEST(AnalyticProfiles, AreWithinAFactorOfThreeOfMeasurementsAndStateTheirError) {
  if (!std::filesystem::exists(kArtifact)) GTEST_SKIP() << kArtifact << " is not here";
  std::map<std::string, Ratios> of_accelerator;
  const ProfileBook measured = read_profiles(kArtifact).value();
  for (const ModelProfile& profile : measured.profiles()) compare(profile, of_accelerator[profile.accelerator.str()]);
  ASSERT_GE(of_accelerator.size(), 5U);
  for (const auto& [accelerator, ratios] : of_accelerator) {
    std::cout << fmt::format(
        "{}: computed times are {:.2f} of the measured ones, off by a factor of {:.2f} in the mean, "
        "{} points\n",
        accelerator, ratios.mean(), ratios.factor(), ratios.count);
    EXPECT_LT(ratios.factor(), 3) << accelerator;
  }
}

}  // namespace
}  // namespace sailor
