#include "cli/slow_nodes.h"

#include <algorithm>
#include <optional>
#include <ranges>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "core/model/parse_number.h"
#include "core/model/size_limits.h"

namespace sailor::cli {
namespace {

// Adds the grade of one slow GPU, or of several alike. Returns false if the text is neither.
bool add_slow_gpus(std::string_view text, std::vector<int>& grades) {
  int gpus = 1;
  if (const std::size_t times = text.find('x'); times != text.npos) {
    const auto count = parse_number<int>(text.substr(0, times));
    if (!count || *count < 1 || *count > kMostGpusOfANode) return false;
    gpus = *count;
    text.remove_prefix(times + 1);
  }
  const auto slowdown = parse_number<double>(text);
  if (!slowdown || !(*slowdown >= 1)) return false;
  grades.insert(grades.end(), static_cast<std::size_t>(gpus), grade_of(*slowdown));
  return true;
}

std::optional<SlowNode> slow_node(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos) return std::nullopt;
  const auto pool = parse_pool_key(text.substr(0, equals));
  if (!pool) return std::nullopt;
  SlowNode node{.pool = *pool, .grades = {}};
  for (const auto part : std::views::split(text.substr(equals + 1), ',')) {
    if (!add_slow_gpus({part.begin(), part.end()}, node.grades)) return std::nullopt;
  }
  if (node.grades.empty()) return std::nullopt;
  return node;
}

}  // namespace

Result<std::vector<SlowNode>> parse_slow_nodes(const std::vector<std::string>& texts) {
  std::vector<SlowNode> nodes;
  for (const std::string& text : texts) {
    auto node = slow_node(text);
    if (!node) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("--slow {}: is not a node with slow GPUs; write POOL=SLOWDOWN,..., for example "
                              "us-central1-a/nvidia-tesla-a100/spot=2.5,1.4 or .../spot=8x2.5, where a slowdown is "
                              "the time of a pass over its usual time, at least 1",
                              text));
    }
    nodes.push_back(*std::move(node));
  }
  return nodes;
}

std::vector<std::string> notes_on_slow_nodes(const std::vector<SlowNode>& nodes) {
  std::set<PoolKey> pools;
  for (const SlowNode& node : nodes) {
    PoolKey pool = node.pool;
    for (const int grade : node.grades) {
      pool.grade = std::min(grade, kUnusableGrade);
      if (grade > 0) pools.insert(pool);
    }
  }
  std::vector<std::string> notes;
  for (PoolKey pool : pools) {
    if (pool.grade < kUnusableGrade) {
      notes.push_back(
          fmt::format("slow GPUs of {}: their passes count as {:.3g} times as long, because --slow is "
                      "rounded up to a power of {}",
                      to_string(pool), slowdown_of(pool.grade), slowdown_of(1)));
      continue;
    }
    pool.grade = 0;
    notes.push_back(fmt::format("slow GPUs of {}: no plan uses those whose passes take more than {:.3g} times as long",
                                to_string(pool), slowdown_of(kSlowestGrade)));
  }
  return notes;
}

}  // namespace sailor::cli
