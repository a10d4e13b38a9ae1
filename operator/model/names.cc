#include "operator/model/names.h"

#include <fmt/format.h>

#include "core/model/sha256.h"

namespace sailor {
namespace {

constexpr std::size_t kLongestJobName = 48;  // leaves 15 of 63 characters for "-<6 digits>-<slot>"
constexpr std::size_t kHashDigits = 6;

}  // namespace

std::string short_hash(const std::string& text) { return sha256_hex(text).substr(0, kHashDigits); }

std::string short_job_name(const std::string& job) {
  if (job.size() <= kLongestJobName) return job;
  std::string start = job.substr(0, kLongestJobName - kHashDigits - 1);
  while (start.ends_with('-') || start.ends_with('.')) start.pop_back();  // "a.-b" is not a name in Kubernetes
  return fmt::format("{}-{}", start, short_hash(job));
}

std::string slot_name(const std::string& job, const PoolKey& pool, int slot) {
  return fmt::format("{}-{}-{}", short_job_name(job), short_hash(to_string(pool)), slot);
}

std::string credentials_name(const std::string& job, const std::string& job_uid) {
  return fmt::format("{}-credentials-{}", short_job_name(job), short_hash(job_uid));
}

std::string network_policy_name(const std::string& job, const std::string& job_uid) {
  return fmt::format("{}-workers-{}", short_job_name(job), short_hash(job_uid));
}

std::string workload_name(const std::string& job, const std::string& job_uid, int number) {
  return fmt::format("{}-{}-{}", short_job_name(job), short_hash(job_uid), number);
}

std::string plan_map_name(const std::string& job) { return short_job_name(job) + "-plan"; }

}  // namespace sailor
