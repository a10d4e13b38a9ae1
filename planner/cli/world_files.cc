#include "planner/cli/world_files.h"

#include <fstream>
#include <iostream>

#include <fmt/format.h>

#include "planner/model/plan_json.h"

namespace sailor::cli {

Result<WorldFiles> read_world(const Inputs& inputs) {
  auto job = read_job(inputs.job);
  if (!job) return tl::unexpected(std::move(job.error()));
  auto cluster = read_cluster(inputs.cluster);
  if (!cluster) return tl::unexpected(std::move(cluster.error()));
  ProfileBook profiles;
  if (!inputs.profiles.empty()) {
    auto read = read_profiles(inputs.profiles);
    if (!read) return tl::unexpected(std::move(read.error()));
    profiles = *std::move(read);
    auto measured = read_network_measurements(inputs.profiles);
    if (!measured) return tl::unexpected(std::move(measured.error()));
    cluster->network.measured = *std::move(measured);
  }
  return WorldFiles{*std::move(job), std::move(cluster->cluster),
                    std::make_unique<Simulator>(std::move(profiles), std::move(cluster->network))};
}

Result<Plan> read_plan(const std::string& file) {
  std::ifstream stream(file);
  if (!stream && file != "-") {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{}: cannot be read; check its name and permissions", file));
  }
  const Json json = Json::parse(file == "-" ? std::cin : stream, nullptr, false);
  if (json.is_discarded()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: this is no JSON; give a plan as `sailor plan -o json` prints it", file));
  }
  auto plan = plan_from_json(json.is_object() && json.contains("plan") ? json.at("plan") : json);
  if (!plan) return tl::unexpected(std::move(plan.error()).within(file));
  return plan;
}

}  // namespace sailor::cli
