#include "cli/job_commands.h"

#include <ostream>
#include <vector>

#include <fmt/format.h>

#include "cli/job_text.h"
#include "core/model/plan_json.h"
#include "operator/kube/time.h"
#include "operator/model/names.h"

namespace sailor::cli {
namespace {

constexpr const char* kJobs = "trainingjobs.sailor.dev";
constexpr int kMostPods = 4096;  // whose logs are followed; kubectl's own limit is five

Result<kube::Object> read_job(const JobArguments& arguments) {
  const auto objects = Kubectl(arguments.kubectl).get({kJobs, arguments.job});
  if (!objects) return tl::unexpected(objects.error());
  return objects->front();
}

Result<JobInCluster> read_job_in_cluster(const JobArguments& arguments) {
  const auto object = read_job(arguments);
  if (!object) return tl::unexpected(object.error());
  return job_in_cluster(**object);
}

// Returns the plan that the operator shows in a ConfigMap. Without it, or without the right to read it, a job is
// explained without its stages.
std::optional<Plan> shown_plan(const JobArguments& arguments, const JobInCluster& job) {
  if (!job.status.plan) return std::nullopt;
  const auto objects = Kubectl(arguments.kubectl).get({"configmap", plan_map_name(job.key.name)});
  if (!objects) return std::nullopt;
  const auto json = kube::Json::parse(kube::text_at(*objects->front(), {"data", "plan.json"}), nullptr, false);
  auto plan = plan_from_json(json);
  return plan ? std::optional(*std::move(plan)) : std::nullopt;
}

// Says so if the change has no effect, or if the suspended job will not continue where it was.
void explain_effect(const JobArguments& arguments, bool suspended, std::ostream& out) {
  const auto object = read_job(arguments);
  if (!object) return;
  const bool has_checkpoints = !kube::text_at(**object, {"spec", "checkpoint", "path"}).empty();
  if (const JobStatus status = job_in_cluster(**object).status; status.has_ended()) {
    out << fmt::format("Job {} has ended (state {}), so this changes nothing.", arguments.job, status.state);
    if (!suspended) {
      out << " To train on, create another job"
          << (has_checkpoints
                  ? fmt::format("; with spec.checkpoint.resumeFrom.job: {} it begins with the state of this one",
                                arguments.job)
                  : "")
          << ".";
    }
    out << "\n";
  } else if (suspended && !has_checkpoints) {
    out << fmt::format(
        "Warning: job {} has no spec.checkpoint.path, so its state is not saved, and it begins again at step 0 when it "
        "is resumed.\n",
        arguments.job);
  }
}

Result<void> set_suspended(const JobArguments& arguments, bool suspended, std::ostream& out) {
  const auto said = Kubectl(arguments.kubectl)
                        .run({"patch", kJobs, arguments.job, "--type=merge",
                              fmt::format(R"(--patch={{"spec":{{"suspend":{}}}}})", suspended)});
  if (!said) return tl::unexpected(said.error());
  out << *said;
  explain_effect(arguments, suspended, out);
  return {};
}

}  // namespace

Result<void> run_top(const JobArguments& arguments, std::ostream& out) {
  std::vector<std::string> what{kJobs};
  if (!arguments.job.empty()) what.push_back(arguments.job);
  if (arguments.all_namespaces) what.emplace_back("--all-namespaces");
  const auto objects = Kubectl(arguments.kubectl).get(std::move(what));
  if (!objects) return tl::unexpected(objects.error());
  if (objects->empty()) {
    out << "There are no TrainingJobs"
        << (arguments.all_namespaces ? "" : " in this namespace; --all-namespaces shows those of all") << ".\n";
    return {};
  }
  std::vector<JobInCluster> jobs;
  for (const kube::Object& object : *objects) jobs.push_back(job_in_cluster(*object));
  out << describe_jobs(jobs, arguments.all_namespaces);
  return {};
}

Result<void> run_explain(const JobArguments& arguments, std::ostream& out) {
  const auto job = read_job_in_cluster(arguments);
  if (!job) return tl::unexpected(job.error());
  out << explain_job(*job, shown_plan(arguments, *job), system_time());
  return {};
}

Result<void> run_history(const JobArguments& arguments, std::ostream& out) {
  const auto job = read_job_in_cluster(arguments);
  if (!job) return tl::unexpected(job.error());
  if (job->status.rescales.empty()) {
    out << "The plan of " << to_string(job->key) << " has not changed.\n";
  } else {
    out << describe_history(*job);
  }
  return {};
}

Result<void> run_logs(const JobArguments& arguments, std::ostream& out) {
  const Kubectl kubectl(arguments.kubectl);
  // Without pods, kubectl prints nothing and counts that as success, even if the job does not exist.
  const auto job = read_job_in_cluster(arguments);
  if (!job) return tl::unexpected(job.error());
  const std::string of_job = fmt::format("--selector={}={}", kJobNameLabel, short_job_name(arguments.job));
  const auto pods = kubectl.get({"pods", of_job});
  if (!pods) return tl::unexpected(pods.error());
  if (pods->empty()) {
    out << explain_missing_pods(*job, system_time());
    return {};
  }
  // A pod that is still starting has no logs, which is no reason to withhold those of the others.
  std::vector<std::string> words{
      "logs",     of_job,         "--ignore-errors", fmt::format("--container={}", kTrainerContainer),
      "--prefix", "--timestamps", "--tail=-1",       fmt::format("--max-log-requests={}", kMostPods)};
  if (arguments.follow) {
    words.emplace_back("--follow");
    return tl::unexpected(kubectl.become(words));
  }
  const auto logs = kubectl.run(words);
  if (!logs) return tl::unexpected(logs.error());
  out << in_order_of_time(*logs);
  return {};
}

Result<void> run_suspend(const JobArguments& arguments, std::ostream& out) {
  return set_suspended(arguments, true, out);
}

Result<void> run_resume(const JobArguments& arguments, std::ostream& out) {
  return set_suspended(arguments, false, out);
}

}  // namespace sailor::cli
