#include "cli/common_options.h"

#include "core/model/execution_model.h"

namespace sailor::cli {
namespace {

// CLI::Range would accept "nan".
CLI::Validator seconds_within(bool (*is_valid)(double), const std::string& range) {
  return {[is_valid, range](std::string& text) {
            double seconds = 0;
            const bool is_right = CLI::detail::lexical_cast(text, seconds) && is_valid(seconds);
            return is_right ? std::string() : text + " is not a number of seconds " + range;
          },
          ""};
}

}  // namespace

const std::map<std::string, Format>& output_formats() {
  static const std::map<std::string, Format> formats = {
      {"table", Format::kTable}, {"json", Format::kJson}, {"yaml", Format::kYaml}, {"html", Format::kHtml}};
  return formats;
}

std::string execution_values() {
  std::string values;
  for (const ExecutionModel& model : built_in_execution_models()) values += model.name + "|";
  return values + "FILE";
}

CLI::Option* add_inputs(CLI::App& command, Inputs& inputs) {
  command.add_option("-f,--file", inputs.job, "manifest with one TrainingJob")->required()->type_name("JOB.yaml");
  CLI::Option* cluster =
      command.add_option("--cluster", inputs.cluster, "manifests of GpuPools and at most one NetworkModel")
          ->required()
          ->type_name("CLUSTER.yaml");
  command
      .add_option("--profiles", inputs.profiles,
                  "folder of ModelProfiles (default: times are computed from data sheets)")
      ->type_name("DIR");
  command
      .add_option("--execution", inputs.execution,
                  "how plans are executed; FILE has an ExecutionModel (default: what the NetworkModel says, else the "
                  "most conservative model)")
      ->type_name(execution_values());
  return cluster;
}

CLI::Option* add_slow(CLI::App& command, Inputs& inputs) {
  return command
      .add_option("--slow", inputs.slow,
                  "a node with slow GPUs: its pool, and for each slow GPU the time of a pass over its usual time, such "
                  "as us-central1-a/nvidia-tesla-a100/spot=2.5,1.4 or .../spot=8x2.5; may be repeated")
      ->type_name("POOL=SLOWDOWN,...");
}

std::vector<CLI::Option*> add_kubectl(CLI::App& command, KubectlOptions& options) {
  return {command.add_option("-n,--namespace", options.name_space, "namespace (default: that of kubectl's context)")
              ->type_name("NAME"),
          command.add_option("--context", options.context, "context of the kubeconfig file")->type_name("NAME"),
          command.add_option("--kubeconfig", options.kubeconfig, "kubeconfig file (default: kubectl's)")
              ->type_name("FILE")};
}

CLI::Validator seconds_above_zero() {
  return seconds_within([](double seconds) { return seconds > 0 && seconds < 1e6; }, "above 0 and below 1000000");
}

CLI::Validator seconds_from_zero() {
  return seconds_within([](double seconds) { return seconds >= 0 && seconds <= 1e6; }, "from 0 to 1000000");
}

}  // namespace sailor::cli
