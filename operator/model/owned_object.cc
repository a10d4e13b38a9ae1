#include "operator/model/owned_object.h"

#include "operator/kube/resource.h"
#include "operator/model/names.h"

namespace sailor {

using kube::Json;

Json metadata_of_owned(const std::string& name, const JobKey& job, const std::string& job_uid) {
  return {{"name", name},
          {"namespace", job.namespace_name},
          {"labels", {{kManagedByLabel, kOperatorName}, {kJobNameLabel, short_job_name(job.name)}}},
          {"ownerReferences", Json::array({{{"apiVersion", kube::kTrainingJobs.group_version},
                                            {"kind", kube::kTrainingJobs.kind},
                                            {"name", job.name},
                                            {"uid", job_uid},
                                            {"controller", true},
                                            {"blockOwnerDeletion", true}}})}};
}

}  // namespace sailor
