#include "core/model/plan_hash.h"

#include "core/model/plan_json.h"
#include "core/model/sha256.h"

namespace sailor {
namespace {

constexpr std::size_t kDigits = 16;

}  // namespace

std::string plan_hash(const Plan& plan) { return sha256_hex(to_json(plan).dump()).substr(0, kDigits); }

}  // namespace sailor
