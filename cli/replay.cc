#include "cli/replay.h"

#include <filesystem>
#include <fstream>
#include <ostream>
#include <sstream>

#include <fmt/format.h>

#include "cli/input_files.h"
#include "cli/results.h"
#include "cli/tables.h"
#include "report/numbers.h"
#include "report/replay_page.h"

namespace sailor::cli {
namespace {

using report::counted;
using report::duration;
using report::money;
using report::percent;
using report::significant;

struct NamedTrace {
  PoolKey pool;
  std::string file;
};

std::string names_of(const std::vector<PoolKey>& pools) {
  std::string names;
  for (const PoolKey& pool : pools) names += (names.empty() ? "" : ", ") + to_string(pool);
  return names;
}

// A trace without a pool applies to the only spot pool, or to the only pool.
Result<PoolKey> only_pool(const ClusterState& cluster) {
  std::vector<PoolKey> all;
  std::vector<PoolKey> spot;
  for (const Pool& pool : cluster.pools) {
    all.push_back(pool.key);
    if (pool.key.provisioning == Provisioning::kSpot) spot.push_back(pool.key);
  }
  if (spot.size() == 1) return spot.front();
  if (all.size() == 1) return all.front();
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("--trace: it is unclear which pool the trace is for; write --trace POOL=FILE, with one of {}",
                          names_of(all)));
}

Result<NamedTrace> named(const std::string& argument, const ClusterState& cluster) {
  const auto equals = argument.find('=');
  if (equals != std::string::npos) {
    if (auto pool = parse_pool_key(argument.substr(0, equals))) {
      return NamedTrace{*std::move(pool), argument.substr(equals + 1)};
    }
  }
  auto pool = only_pool(cluster);
  if (!pool) return tl::unexpected(std::move(pool.error()));
  return NamedTrace{*std::move(pool), argument};
}

Result<Trace> read_trace(const std::string& file) {
  std::error_code error;
  std::ifstream stream(file);
  if (!stream || std::filesystem::is_directory(file, error)) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{}: cannot be read; check its name and permissions", file));
  }
  std::stringstream text;
  text << stream.rdbuf();
  auto trace = parse_trace(text.str());
  if (!trace) return tl::unexpected(std::move(trace.error()).within(file));
  return trace;
}

Result<std::map<PoolKey, Trace>> read_traces(const std::vector<std::string>& arguments, const ClusterState& cluster) {
  std::map<PoolKey, Trace> traces;
  for (const std::string& argument : arguments) {
    const auto name = named(argument, cluster);
    if (!name) return tl::unexpected(name.error());
    auto trace = read_trace(name->file);
    if (!trace) return tl::unexpected(std::move(trace.error()));
    if (!traces.try_emplace(name->pool, *std::move(trace)).second) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("--trace: pool {} has two traces; remove one", to_string(name->pool)));
    }
  }
  return traces;
}

double tokens_of(const JobSpec& job, const ReplayReport& report) {
  return report.steps * job.training.global_batch_size * job.training.sequence_length;
}

nlohmann::json as_json(const JobSpec& job, const ReplayReport& report, ReplayPolicy policy) {
  nlohmann::json periods = nlohmann::json::array();
  for (const ReplayPeriod& period : report.periods) {
    periods.push_back({{"from", period.from.value()},
                       {"to", period.to.value()},
                       {"availableGpus", period.available_gpus},
                       {"usedGpus", period.used_gpus},
                       {"throughput", period.throughput},
                       {"pausedSeconds", period.paused.value()},
                       {"lostSteps", period.lost_steps},
                       {"plan", period.plan}});
  }
  return {{"policy", std::string(to_string(policy))},
          {"steps", report.steps},
          {"computedSteps", report.computed},
          {"goodput", report.goodput()},
          {"tokens", tokens_of(job, report)},
          {"cost", report.cost.value()},
          {"done", report.is_done},
          {"planChanges", report.changes},
          {"seconds",
           {{"total", report.end.value()},
            {"training", report.training.value()},
            {"paused", report.paused.value()},
            {"waiting", report.waiting.value()}}},
          {"periods", std::move(periods)}};
}

std::string share(Seconds part, Seconds whole) {
  return fmt::format("{} ({})", duration(part), percent(whole > Seconds(0) ? part / whole : 0));
}

std::string as_text(const JobSpec& job, const ReplayReport& report, ReplayPolicy policy) {
  const double tokens = tokens_of(job, report);
  std::string text = table(
      {{"Policy", std::string(to_string(policy))},
       {"Steps", fmt::format("{} of {}{}", significant(report.steps, 4), counted(static_cast<long>(job.training.steps)),
                             report.is_done ? ", complete" : "")},
       {"Goodput", fmt::format("{} of {} computed steps", percent(report.goodput()), significant(report.computed, 4))},
       {"Time", duration(report.end)},
       {"  training", share(report.training, report.end)},
       {"  paused", share(report.paused, report.end)},
       {"  waiting", share(report.waiting, report.end)},
       {"Cost",
        fmt::format("{}{}", money(report.cost.value()),
                    tokens > 0 ? ", " + money(report.cost.value() / tokens * 1e6) + " per million tokens" : "")},
       {"Plan changes", counted(report.changes)}});
  std::vector<std::vector<std::string>> rows{
      {"FROM", "DURATION", "AVAILABLE GPUS", "USED", "ITERATIONS/S", "PAUSED", "STEPS LOST", "PLAN"}};
  for (const ReplayPeriod& period : report.periods) {
    rows.push_back({duration(period.from), duration(period.to - period.from), counted(period.available_gpus),
                    counted(period.used_gpus), significant(period.throughput), duration(period.paused),
                    significant(period.lost_steps), period.plan});
  }
  return text + "\n" + table(rows);
}

}  // namespace

Result<void> run_replay(const ReplayArguments& arguments, std::ostream& out, std::ostream& notes) {
  const auto world = read_input_files(arguments.inputs);
  if (!world) return tl::unexpected(world.error());
  const auto traces = read_traces(arguments.traces, world->cluster);
  if (!traces) return tl::unexpected(traces.error());
  const auto report = replay(world->job, world->cluster, *traces, *world->simulator, arguments.options);
  if (!report) return tl::unexpected(Error(report.error()).within("replaying job " + to_string(world->job.key)));
  print_left_out_pools(*world, notes);
  const ReplayPolicy policy = arguments.options.policy;
  if (arguments.format == Format::kHtml) {
    out << report::replay_page(world->job, *report, policy);
  } else if (arguments.format == Format::kTable) {
    out << as_text(world->job, *report, policy);
  } else {
    print_json(as_json(world->job, *report, policy), arguments.format, out);
  }
  return {};
}

}  // namespace sailor::cli
