#include "operator/model/names.h"

#include <cstdint>

#include <fmt/format.h>

namespace sailor {
namespace {

constexpr std::size_t kLongestJobName = 48;  // leaves 15 of 63 characters for "-<6 digits>-<slot>"

}  // namespace

std::string short_hash(const std::string& text) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return fmt::format("{:06x}", (hash >> 24U) ^ (hash & 0xFFFFFFU));
}

std::string short_job_name(const std::string& job) {
  if (job.size() <= kLongestJobName) return job;
  return fmt::format("{}-{}", job.substr(0, kLongestJobName - 7), short_hash(job));
}

std::string slot_name(const std::string& job, const PoolKey& pool, int slot) {
  return fmt::format("{}-{}-{}", short_job_name(job), short_hash(to_string(pool)), slot);
}

std::string record_name(const std::string& job) { return short_job_name(job) + "-plan"; }

}  // namespace sailor
