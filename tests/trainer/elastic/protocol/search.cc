#include "tests/trainer/elastic/protocol/search.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

#include "core/model/check.h"
#include "tests/trainer/elastic/protocol/level.h"
#include "tests/trainer/elastic/protocol/progress.h"

namespace sailor::trainer::exploration {
namespace {

// Origins: records how every world was found, as the number of the world before and the index among its successors.
class Origins {
 public:
  void add(int level, std::uint32_t before, std::size_t successor) {
    SAILOR_CHECK(successor < 256, "{} successors", successor + 1);
    numbers_[level].push_back(static_cast<std::uint32_t>(before_.size()));
    before_.push_back(before);
    successor_.push_back(static_cast<std::uint8_t>(successor));
  }

  // Returns the numbers of a level's worlds, in the order in which they were added.
  [[nodiscard]] const std::vector<std::uint32_t>& numbers(int level) const { return numbers_.at(level); }

  // Returns the indices of the successors that lead from the first world to this one.
  [[nodiscard]] std::vector<std::size_t> path_to(std::uint32_t world) const {
    std::vector<std::size_t> path;
    for (; world != 0; world = before_[world]) path.push_back(successor_[world]);
    std::ranges::reverse(path);
    return path;
  }

 private:
  std::map<int, std::vector<std::uint32_t>> numbers_;
  std::vector<std::uint32_t> before_;
  std::vector<std::uint8_t> successor_;
};

class Search {
 public:
  Search(const World& first, const Limits& limits, const Rules& rules, Reduction reduction)
      : first_(first), limits_(limits), rules_(rules), reduction_(reduction), explorer_(limits, rules, reduction) {}

  Survey run() {
    reach(first_, 0, 0);
    while (!open_.empty() && survey_.failures.empty()) {
      const auto nearest = open_.extract(open_.begin());
      visit(nearest.key(), nearest.mapped());
      kept_ -= nearest.mapped().size();
    }
    return std::move(survey_);
  }

  // Does the same, and adds to a failure the sequence of events that leads to it. This takes memory for every world
  // ever visited.
  Survey run_with_story() {
    origins_.emplace();
    return run();
  }

 private:
  void visit(int now, const Level& level) {
    std::size_t place = 0;
    level.for_each([&](const PackedWorld& packed) {
      if (!survey_.failures.empty()) return;
      number_ = origins_ ? origins_->numbers(now)[place++] : 0;
      const World world = unpack(packed);
      const Future& future = explorer_.future_of(world);
      ++survey_.worlds;
      check(world, future);
      for (std::size_t i = 0; i < future.successors.size(); ++i) go_to(future.successors[i], i, now);
    });
  }

  void go_to(const Successor& successor, std::size_t index, int now) {
    ++survey_.events;
    const int then = reach(successor.world, number_, index);
    if (then <= now) fail("an event makes no progress: " + describe(successor.transition));
  }

  int reach(const World& world, std::uint32_t from, std::size_t successor) {
    const int level = progress(world, rules_);
    if (!open_[level].add(pack(world))) return level;
    if (origins_) origins_->add(level, from, successor);
    survey_.most_kept = std::max(survey_.most_kept, ++kept_);
    return level;
  }

  void check(const World& world, const Future& future) {
    for (const std::string& violation : future.violations) fail(violation);
    const auto may_fail_to_come = [](const Successor& next) { return !next.is_sure || is_fault(next.transition.kind); };
    const bool is_end = std::ranges::all_of(future.successors, may_fail_to_come);
    if (is_end && !trains(world, limits_)) fail("nothing leads to training");
  }

  void fail(const std::string& what) {
    if (survey_.failures.empty()) survey_.failures.push_back(what + (origins_ ? ", after\n" + story() : ""));
  }

  [[nodiscard]] std::string story() const {
    Explorer again(limits_, rules_, reduction_);
    World world = first_;
    std::string story = "    " + describe(world) + "\n";
    for (const std::size_t index : origins_->path_to(number_)) {
      const Successor next = again.future_of(world).successors.at(index);
      story += "  " + describe(next.transition) + "\n    " + describe(next.world) + "\n";
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
  std::size_t kept_ = 0;
  std::optional<Origins> origins_;
  std::uint32_t number_ = 0;  // the number of the visited world, if origins are recorded
  Survey survey_;
};

}  // namespace

Survey explore(const World& first, const Limits& limits, const Rules& rules, Reduction reduction) {
  Survey survey = Search(first, limits, rules, reduction).run();
  return survey.failures.empty() ? survey : Search(first, limits, rules, reduction).run_with_story();
}

}  // namespace sailor::trainer::exploration
