#include "cli/replay.h"

#include <ostream>

#include <fmt/format.h>

#include "cli/input_files.h"
#include "cli/replay_output.h"
#include "cli/results.h"
#include "core/manifest/file_text.h"
#include "planner/replay/trace_parser.h"
#include "report/replay_page.h"

namespace sailor::cli {
namespace {

struct NamedFile {
  PoolKey pool;
  std::string file;
};

std::string names_of(const std::vector<PoolKey>& pools) {
  std::string names;
  for (const PoolKey& pool : pools) names += (names.empty() ? "" : ", ") + to_string(pool);
  return names;
}

// A file without a pool applies to the only spot pool, or to the only pool.
Result<PoolKey> only_pool(const std::string& option, const ClusterState& cluster) {
  std::vector<PoolKey> all;
  std::vector<PoolKey> spot;
  for (const Pool& pool : cluster.pools) {
    all.push_back(pool.key);
    if (pool.key.provisioning == Provisioning::kSpot) spot.push_back(pool.key);
  }
  if (spot.size() == 1) return spot.front();
  if (all.size() == 1) return all.front();
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{0}: it is unclear which pool the file is for; write {0} POOL=FILE, with one of {1}", option,
                          names_of(all)));
}

Result<NamedFile> named(const std::string& option, const std::string& argument, const ClusterState& cluster) {
  const auto equals = argument.find('=');
  if (equals != std::string::npos) {
    if (auto pool = parse_pool_key(argument.substr(0, equals))) {
      return NamedFile{*std::move(pool), argument.substr(equals + 1)};
    }
  }
  auto pool = only_pool(option, cluster);
  if (!pool) return tl::unexpected(std::move(pool.error()));
  return NamedFile{*std::move(pool), argument};
}

// Reads a file for each argument of the option, "FILE" or "POOL=FILE", with `parse`.
template <class Parse>
auto read_by_pool(const std::string& option, const std::vector<std::string>& arguments, const ClusterState& cluster,
                  Parse parse) -> Result<std::map<PoolKey, std::decay_t<decltype(*parse(std::string()))>>> {
  std::map<PoolKey, std::decay_t<decltype(*parse(std::string()))>> values;
  for (const std::string& argument : arguments) {
    const auto name = named(option, argument, cluster);
    if (!name) return tl::unexpected(name.error());
    const auto text = read_text(name->file);
    if (!text) return tl::unexpected(text.error());
    auto value = parse(*text);
    if (!value) return tl::unexpected(std::move(value.error()).within(name_in_errors(name->file)));
    if (!values.try_emplace(name->pool, *std::move(value)).second) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{}: pool {} has two files; remove one", option, to_string(name->pool)));
    }
  }
  return values;
}

Result<void> check_inputs(const ReplayArguments& arguments) {
  std::vector<std::string> files;
  for (const auto& options : {arguments.traces, arguments.prices}) {
    for (const std::string& file : options) files.push_back(file.ends_with("=-") ? "-" : file);
  }
  return check_standard_input(arguments.inputs, std::move(files));
}

std::vector<ReplayPolicy> policies_of(PolicyChoice choice, const JobSpec& job) {
  switch (choice) {
    case PolicyChoice::kLive:
      return {ReplayPolicy::kLive};
    case PolicyChoice::kRestart:
      return {ReplayPolicy::kRestart};
    case PolicyChoice::kStatic:
      return {ReplayPolicy::kStatic};
    case PolicyChoice::kVaruna:
      return {ReplayPolicy::kVaruna};
    case PolicyChoice::kOracle:
      return {ReplayPolicy::kOracle};
    case PolicyChoice::kAll:
      return {kAllReplayPolicies.begin(), kAllReplayPolicies.end()};
    case PolicyChoice::kOfJob:
      break;
  }
  return {policy_of(job.elasticity)};
}

bool is_ahead(ReplayPolicy policy) {
  return policy == ReplayPolicy::kLiveAhead || policy == ReplayPolicy::kRestartAhead;
}

LookAhead look_ahead_of(const ReplayArguments& arguments, const JobSpec& job) {
  if (arguments.look_ahead) return *arguments.look_ahead;
  if (arguments.policy == PolicyChoice::kOfJob) return job.look_ahead;
  return arguments.policy == PolicyChoice::kAll ? LookAhead::kAuto : LookAhead::kOff;
}

// Several policies are played with looking ahead and without, unless it is off. Of a single policy, one of both is.
Result<std::vector<ReplayPolicy>> played_policies(const ReplayArguments& arguments, const JobSpec& job) {
  std::vector<ReplayPolicy> policies = policies_of(arguments.policy, job);
  const bool is_off = look_ahead_of(arguments, job) == LookAhead::kOff;
  if (is_off) std::erase_if(policies, is_ahead);
  if (is_off || policies.size() > 1) return policies;
  if (const auto ahead = looking_ahead(policies.front())) return std::vector{*ahead};
  if (!arguments.look_ahead) return policies;
  return fail(ErrorCode::kInvalidArgument, fmt::format("--look-ahead: policy {} cannot look ahead; use it with live or "
                                                       "restart",
                                                       to_string(policies.front())));
}

Result<report::ReplayResults> results_of(Replay& replay, const std::vector<ReplayPolicy>& policies,
                                         std::uint64_t seed) {
  report::ReplayResults results{.reports = {}, .notes = replay.notes(), .seed = seed};
  for (const ReplayPolicy policy : policies) {
    auto report = replay.run(policy);
    if (!report) return tl::unexpected(std::move(report.error()));
    results.reports.emplace_back(policy, *std::move(report));
  }
  return results;
}

}  // namespace

Result<void> run_replay(const ReplayArguments& arguments, std::ostream& out, std::ostream& notes) {
  if (auto checked = check_inputs(arguments); !checked) return checked;
  const auto world = read_input_files(arguments.inputs);
  if (!world) return tl::unexpected(world.error());
  const auto policies = played_policies(arguments, world->job);
  if (!policies) return tl::unexpected(policies.error());
  const auto traces = read_by_pool("--trace", arguments.traces, world->cluster, parse_trace);
  if (!traces) return tl::unexpected(traces.error());
  const auto prices = read_by_pool("--prices", arguments.prices, world->cluster, parse_prices);
  if (!prices) return tl::unexpected(prices.error());
  print_left_out_pools(*world, notes);
  const auto within = [&](Error error) {
    return tl::unexpected(std::move(error).within("replaying job " + to_string(world->job.key)));
  };
  ReplayOptions options = arguments.options;
  options.prices = *prices;
  options.look_ahead = look_ahead_of(arguments, world->job);
  auto replay = Replay::make(world->job, world->cluster, *traces, *world->simulator, options);
  if (!replay) return within(replay.error());
  const auto results = results_of(*replay, *policies, options.seed);
  if (!results) return within(results.error());
  if (arguments.format == Format::kHtml) {
    out << report::replay_page(world->job, *results);
  } else if (arguments.format == Format::kTable) {
    out << replay_text(world->job, *results);
  } else {
    print_json(replay_json(world->job, *results), arguments.format, out);
  }
  return {};
}

}  // namespace sailor::cli
