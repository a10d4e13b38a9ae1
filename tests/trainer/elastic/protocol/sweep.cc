#include "tests/trainer/elastic/protocol/sweep.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "planner/model/check.h"
#include "tests/trainer/elastic/protocol/level.h"
#include "tests/trainer/elastic/protocol/progress.h"

namespace sailor::trainer::exploration {
namespace {

// How every world was found: the number of the world before, and which of its successors it is.
class Origins {
 public:
  std::uint32_t add(std::uint32_t before, std::size_t successor) {
    SAILOR_CHECK(successor < 256, "{} successors", successor + 1);
    before_.push_back(before);
    successor_.push_back(static_cast<std::uint8_t>(successor));
    return static_cast<std::uint32_t>(before_.size() - 1);
  }

  // The successors to be taken from the first world on.
  [[nodiscard]] std::vector<std::size_t> way_to(std::uint32_t world) const {
    std::vector<std::size_t> way;
    for (; world != 0; world = before_[world]) way.push_back(successor_[world]);
    std::ranges::reverse(way);
    return way;
  }

 private:
  std::vector<std::uint32_t> before_;
  std::vector<std::uint8_t> successor_;
};

class Sweep {
 public:
  Sweep(const World& first, const Limits& limits, const Rules& rules, Reduction reduction)
      : first_(first), limits_(limits), rules_(rules), reduction_(reduction), explorer_(limits, rules, reduction) {}

  Survey run() {
    open_[progress(first_, rules_)].add(pack(first_), [&] { return origins_.add(0, 0); });
    kept_ = 1;
    while (!open_.empty() && survey_.failures.empty()) {
      const auto nearest = open_.extract(open_.begin());
      visit(nearest.key(), nearest.mapped());
      kept_ -= nearest.mapped().entries().size();
    }
    return std::move(survey_);
  }

 private:
  void visit(int now, const Level& level) {
    for (const Level::Entry& entry : level.entries()) {
      const World world = unpack(entry.world);
      const Future& future = explorer_.future_of(world);
      ++survey_.worlds;
      check(world, future, entry.number);
      if (!survey_.failures.empty()) return;
      for (std::size_t i = 0; i < future.successors.size(); ++i) go_to(future.successors[i], i, now, entry.number);
    }
  }

  void go_to(const Successor& successor, std::size_t index, int now, std::uint32_t from) {
    ++survey_.events;
    const int then = progress(successor.world, rules_);
    if (then <= now) fail("an event makes no progress: " + describe(successor.happening), from);
    const bool is_new = open_[then].add(pack(successor.world), [&] { return origins_.add(from, index); });
    if (is_new) survey_.most_kept = std::max(survey_.most_kept, ++kept_);
  }

  void check(const World& world, const Future& future, std::uint32_t number) {
    for (const std::string& complaint : future.complaints) fail(complaint, number);
    const auto needs_fault = [](const Successor& next) { return is_fault(next.happening.what); };
    const bool is_end = std::ranges::all_of(future.successors, needs_fault);
    if (is_end && !trains(world, limits_)) fail("nothing leads to training", number);
  }

  void fail(const std::string& what, std::uint32_t number) {
    if (!survey_.failures.empty()) return;
    survey_.failures.push_back(what + ", after\n" + story_of(number));
  }

  std::string story_of(std::uint32_t number) {
    Explorer again(limits_, rules_, reduction_);
    World world = first_;
    std::string story = "    " + describe(world) + "\n";
    for (const std::size_t index : origins_.way_to(number)) {
      const Successor next = again.future_of(world).successors.at(index);
      story += "  " + describe(next.happening) + "\n    " + describe(next.world) + "\n";
      world = next.world;
    }
    return story;
  }

  const World first_;
  const Limits limits_;
  const Rules rules_;
  const Reduction reduction_;
  Explorer explorer_;
  std::map<int, Level> open_;  // by progress
  Origins origins_;
  std::size_t kept_ = 0;
  Survey survey_;
};

}  // namespace

Survey explore(const World& first, const Limits& limits, const Rules& rules, Reduction reduction) {
  return Sweep(first, limits, rules, reduction).run();
}

}  // namespace sailor::trainer::exploration
