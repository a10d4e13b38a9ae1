#include "operator/reconcile/observe/spec_to_suspend.h"

#include <string>

namespace sailor {

Result<JobSpec> spec_to_suspend(const kube::Json& job, const std::optional<GenerationRecord>& record,
                                const std::function<Result<JobSpec>(const kube::Json&)>& read_job) {
  kube::Json readable = {{"metadata", job.at("metadata")}, {"spec", {{"suspend", true}}}};
  for (const std::string field : {"model", "data", "training", "checkpoint"}) {
    if (const kube::Json* stated = kube::find_at(job, {"spec", field})) readable["spec"][field] = *stated;
  }
  if (record && record->settings) {
    readable["spec"]["training"] = to_json(record->settings->training);
    readable["spec"]["checkpoint"] = to_json(record->settings->checkpoint);
  }
  auto spec = read_job(readable);
  // A record gets the settings of the spec, and could not be read with those of an empty one.
  if (spec || (record && !record->settings)) return spec;
  JobSpec unsaved;  // without a checkpoint folder
  unsaved.key = kube::key_of(job);
  unsaved.suspend = true;
  if (record) unsaved.training = record->settings->training;
  return unsaved;
}

}  // namespace sailor
