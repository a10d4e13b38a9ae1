#include "cli/commands.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <ostream>
#include <set>

#include <fmt/format.h>

#include "cli/input_files.h"
#include "cli/live_start.h"
#include "cli/results.h"
#include "cli/running_plan.h"
#include "cli/tables.h"
#include "cli/timeline.h"
#include "cli/unmet_requests.h"
#include "core/manifest/file_text.h"
#include "core/model/compute_capability.h"
#include "report/page.h"

namespace sailor::cli {
namespace {

std::chrono::nanoseconds nanoseconds(double seconds) {
  return std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
}

Result<PlanOptions> plan_options(const PlanArguments& arguments, const InputFiles& world) {
  PlanOptions options;
  options.space = arguments.space;
  options.max_tensor_parallel = arguments.max_tensor_parallel;
  if (arguments.budget_seconds) options.budget = nanoseconds(*arguments.budget_seconds);
  if (arguments.proof_seconds) {
    options.proof = Proof::kThorough;
    options.proof_budget = nanoseconds(*arguments.proof_seconds);
  }
  if (arguments.lifetime_seconds) options.expected_lifetime = Seconds(*arguments.lifetime_seconds);
  if (arguments.is_repair) options.scope = SearchScope::kNearCurrent;
  if (arguments.current.empty()) return options;
  auto current = read_plan(arguments.current);
  if (!current) return tl::unexpected(std::move(current.error()));
  if (current->model != world.job.model.name) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("--current {}: is a plan of {}, but the job trains {}; use the plan by which this job runs",
                            arguments.current, current->model, world.job.model.name));
  }
  options.current = *std::move(current);
  if (world.slow.empty()) return options;
  if (auto running = on_slow_nodes(*options.current, world.healthy, world.slow)) {
    options.current = std::move(running->plan);
    options.current_cluster = std::move(running->cluster);
  }
  return options;
}

// Says why the running plan cannot stay, if the job has changed since.
std::optional<std::string> note_on_running_plan(Plan running, const JobSpec& job) {
  if (!allows_peer_replicas(job.redundancy, running.peer_replicas)) running.peer_replicas = !running.peer_replicas;
  const auto checked = check_well_formed(running, job);
  if (checked) return std::nullopt;
  return fmt::format("the running plan (--current) cannot stay, and only tells which GPUs hold which state: {}",
                     checked.error().message);
}

Result<void> write_timeline(const StepTiming& timing, const Plan& plan, const std::string& file) {
  if (file == "-") {
    return fail(ErrorCode::kInvalidArgument,
                "--timeline -: the estimate is printed to the standard output; name a file");
  }
  std::ofstream stream(file);
  stream << trace_json(timing, plan) << "\n";
  if (stream.flush()) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("--timeline {}: cannot be written; check its folder and permissions", file));
}

// Returns the cluster to whose pools the answer refers.
const ClusterState& cluster_of(const PlannedJob& planned, const PlanOptions& options, const InputFiles& world) {
  return planned.keeps_current && options.current_cluster ? *options.current_cluster : world.cluster;
}

// Alternatives are shown with the fast estimates that the search compared, the chosen plan with the exact estimate.
Result<void> write_page(const InputFiles& world, const PlannedJob& planned, const PlanOptions& options,
                        const EstimateBasis& basis, std::ostream& out) {
  const ClusterState& cluster = cluster_of(planned, options, world);
  const auto details = world.simulator->details(world.job, cluster, planned.plan);
  if (!details) return tl::unexpected(details.error());
  out << report::planning_page({world.job, cluster, planned.plan, planned.estimate, *details, basis}, planned, options);
  return {};
}

// Returns the error with what a reader must know of the cluster, each on a line of its own.
Error with_notes(Error error, const std::vector<std::string>& notes) {
  for (const std::string& note : notes) error.message += "\nnote: " + note;
  return error;
}

// A question about such GPUs is answered, but the operator uses them only with an image that has kernels for them.
std::vector<std::string> notes_on_missing_kernels(const Plan& plan) {
  std::set<Accelerator> accelerators;
  for (const auto& [pool, gpus] : gpus_by_pool(plan)) accelerators.insert(pool.accelerator);
  std::vector<std::string> notes;
  for (const Accelerator& accelerator : accelerators) {
    if (!lacks_kernels(accelerator, kLeastComputeCapability)) continue;
    notes.push_back(fmt::format(
        "the trainer's image has no kernels for {} (compute capability {}, and {} is the least); an image "
        "with CUDA 12.6 has them",
        accelerator.str(), to_string(compute_capability(accelerator).value()), to_string(kLeastComputeCapability)));
  }
  return notes;
}

struct FoundPlan {
  Result<PlannedJob> planned;
  std::vector<std::string> notes;
  std::optional<LiveStart> start;  // in a live cluster
};

// Plans as the operator would. The cluster of `world` becomes the one that the plan is for.
FoundPlan find_plan_in_live_cluster(InputFiles& world, const AskPlan& ask) {
  LiveCluster& live = world.live.value();
  FoundPlan found{.planned = {}, .notes = std::move(live.notes), .start = {}};
  LiveStart start = start_now(std::move(live.observation), std::move(live.queue), ask);
  std::ranges::move(sentences_about(start), std::back_inserter(found.notes));
  if (start.answer) {
    found.planned = std::move(start.answer->result);
    world.cluster = std::move(start.answer->question.cluster);
  } else {
    found.planned = fail(ErrorCode::kInfeasible, start.planned.message);
  }
  found.start = std::move(start);
  return found;
}

FoundPlan find_plan(InputFiles& world, const PlanOptions& options, const std::stop_token& stop) {
  const Planner planner(*world.simulator);
  if (!world.live) return {planner.plan(world.job, world.cluster, options, stop), {}, {}};
  return find_plan_in_live_cluster(
      world, [&](const PlanQuestion& question) { return planner.plan(question.job, question.cluster, options, stop); });
}

}  // namespace

Result<void> run_plan(const PlanArguments& arguments, std::ostream& out, std::stop_token stop) {
  if (auto checked = check_standard_input(arguments.inputs, {arguments.current}); !checked) return checked;
  auto world = read_input_files(arguments.inputs);
  if (!world) return tl::unexpected(world.error());
  const auto options = plan_options(arguments, *world);
  if (!options) return tl::unexpected(options.error());
  FoundPlan found = find_plan(*world, *options, stop);
  if (!found.planned) {
    if (found.start && (arguments.format == Format::kJson || arguments.format == Format::kYaml))
      print_json({{"cluster", to_json(*found.start)}}, arguments.format, out);
    return tl::unexpected(
        with_notes(Error(found.planned.error()).within("planning job " + to_string(world->job.key)), found.notes));
  }
  auto planned = std::move(found.planned);
  if (options->current) {
    if (auto note = note_on_running_plan(*options->current, world->job)) found.notes.push_back(*std::move(note));
  }
  // The search compares plans by fast estimates. The chosen plan is printed with the estimate that `simulate` prints.
  const ClusterState& cluster = cluster_of(*planned, *options, *world);
  auto exact = world->simulator->simulate(world->job, cluster, planned->plan);
  if (!exact) return tl::unexpected(std::move(exact.error()));
  const auto basis = world->simulator->basis_of(world->job, cluster, planned->plan);
  if (!basis) return tl::unexpected(basis.error());
  planned->estimate = *std::move(exact);
  // A live cluster says for which GPUs its image has kernels, and the others are left out.
  if (!arguments.is_from_cluster)
    std::ranges::move(notes_on_missing_kernels(planned->plan), std::back_inserter(planned->estimate.notes));
  std::ranges::move(found.notes, std::back_inserter(planned->estimate.notes));
  std::ranges::copy(world->notes, std::back_inserter(planned->estimate.notes));
  if (arguments.format == Format::kHtml) return write_page(*world, *planned, *options, *basis, out);
  if (arguments.format != Format::kTable) {
    nlohmann::json json = planned_json(*planned, *basis);
    if (found.start) json["cluster"] = to_json(*found.start);
    print_json(json, arguments.format, out);
    return {};
  }
  out << describe_plan(planned->plan, planned->estimate) << "\n"
      << describe_estimate(planned->estimate) << describe_basis(*basis) << describe_search(*planned)
      << describe_alternatives(world->job, *planned);
  return {};
}

Result<void> run_simulate(const SimulateArguments& arguments, std::ostream& out) {
  if (auto checked = check_standard_input(arguments.inputs, {arguments.plan}); !checked) return checked;
  const auto world = read_input_files(arguments.inputs);
  if (!world) return tl::unexpected(world.error());
  const auto plan = read_plan(arguments.plan);
  if (!plan) return tl::unexpected(plan.error());
  auto estimate = world->simulator->simulate(world->job, world->cluster, *plan);
  if (!estimate) return tl::unexpected(Error(estimate.error()).within(name_in_errors(arguments.plan)));
  std::ranges::move(unmet_requests(world->job, *plan, *estimate), std::back_inserter(estimate->notes));
  std::ranges::copy(world->notes, std::back_inserter(estimate->notes));
  const auto basis = world->simulator->basis_of(world->job, world->cluster, *plan);
  if (!basis) return tl::unexpected(Error(basis.error()).within(name_in_errors(arguments.plan)));
  if (!arguments.timeline.empty() || arguments.format == Format::kHtml) {
    const auto details = world->simulator->details(world->job, world->cluster, *plan);
    if (!details) return tl::unexpected(Error(details.error()).within(name_in_errors(arguments.plan)));
    if (!arguments.timeline.empty()) {
      if (auto written = write_timeline(details->step, *plan, arguments.timeline); !written) return written;
    }
    if (arguments.format == Format::kHtml) {
      out << report::simulation_page({world->job, world->cluster, *plan, *estimate, *details, *basis});
      return {};
    }
  }
  if (arguments.format != Format::kTable) {
    const auto times = world->simulator->schedule_times(world->job, world->cluster, *plan);
    if (!times) return tl::unexpected(Error(times.error()).within(name_in_errors(arguments.plan)));
    nlohmann::json json = simulated_json(*plan, *estimate, *basis);
    json["scheduleTimes"] = to_json(*times);
    print_json(json, arguments.format, out);
  } else {
    out << describe_plan(*plan, *estimate) << "\n" << describe_estimate(*estimate) << describe_basis(*basis);
  }
  return {};
}

Result<void> run_validate(const std::vector<std::string>& files, std::ostream& out, std::ostream& errors) {
  if (auto checked = check_standard_input(files); !checked) return checked;
  std::size_t found = 0;
  for (const std::string& file : files) {
    const Validation validation = validate_file(file);
    for (const Error& error : validation.errors) errors << error.message << "\n";
    for (const std::string& note : validation.notes) errors << "note: " << note << "\n";
    if (validation.errors.empty()) out << file << ": valid\n";
    found += validation.errors.size();
  }
  if (found == 0) return {};
  return fail(ErrorCode::kInvalidArgument, fmt::format("{} {} found", found, found == 1 ? "error" : "errors"));
}

int exit_status(const Error& error) {
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kNotFound:
    case ErrorCode::kForbidden:
      return 2;
    case ErrorCode::kInfeasible:
      return 3;
    default:
      return 1;
  }
}

}  // namespace sailor::cli
