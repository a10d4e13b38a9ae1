#include "core/model/plan_hash.h"

#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "core/model/plan_json.h"

namespace sailor {
namespace {

// FNV-1a: equal on every machine. The hash of a plan does not need to resist attackers.
std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char character : text) {
    hash = (hash ^ static_cast<unsigned char>(character)) * 1099511628211ULL;
  }
  return hash;
}

}  // namespace

std::string plan_hash(const Plan& plan) { return fmt::format("{:016x}", fnv1a(to_json(plan).dump())); }

}  // namespace sailor
