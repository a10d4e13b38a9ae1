#include "core/protocol/hint.h"

#include "core/model/enum_names.h"
#include "core/model/json_reader.h"

namespace sailor {
namespace {

constexpr EnumName<HintReason> kReasons[] = {{HintReason::kPeerLost, "PeerLost"},
                                             {HintReason::kTerminating, "Terminating"},
                                             {HintReason::kWorkerFailed, "WorkerFailed"},
                                             {HintReason::kFinished, "Finished"}};

}  // namespace

std::string_view to_string(HintReason reason) { return name_of(kReasons, reason); }

nlohmann::json to_json(const Hint& hint) {
  return {
      {"namespace", hint.job.namespace_name}, {"job", hint.job.name},   {"jobUid", hint.job_uid}, {"agent", hint.agent},
      {"reason", to_string(hint.reason)},     {"message", hint.message}};
}

Result<Hint> hint_from_json(const nlohmann::json& json) {
  JsonReader reader(json, "hint");
  Hint hint{.job = {reader.required<std::string>("namespace"), reader.required<std::string>("job")},
            .job_uid = reader.value_or<std::string>("jobUid", ""),
            .agent = reader.value_or<std::string>("agent", ""),
            .reason = read_enum(reader, "reason", kReasons, HintReason::kPeerLost),
            .message = reader.value_or<std::string>("message", "")};
  if (const auto& error = reader.error()) return tl::unexpected(*error);
  return hint;
}

nlohmann::json to_json(const CallbackAddress& address) { return {{"callback", address.url}}; }

Result<CallbackAddress> callback_address_from_json(const nlohmann::json& json) {
  JsonReader reader(json, "callback address");
  CallbackAddress address{reader.required<std::string>("callback")};
  if (const auto& error = reader.error()) return tl::unexpected(*error);
  return address;
}

}  // namespace sailor
