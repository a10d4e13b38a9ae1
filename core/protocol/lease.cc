#include "core/protocol/lease.h"

#include "core/model/json_reader.h"

namespace sailor {

nlohmann::json to_json(const LeaseQuestion& question) {
  return {{"namespace", question.job.namespace_name},
          {"job", question.job.name},
          {"jobUid", question.job_uid},
          {"generation", question.generation}};
}

Result<LeaseQuestion> lease_question_from_json(const nlohmann::json& json) {
  JsonReader reader(json, "lease question");
  LeaseQuestion question{{reader.required<std::string>("namespace"), reader.required<std::string>("job")},
                         reader.required<std::string>("jobUid"),
                         reader.required<std::int64_t>("generation")};
  if (const auto& error = reader.error()) return tl::unexpected(*error);
  return question;
}

}  // namespace sailor
