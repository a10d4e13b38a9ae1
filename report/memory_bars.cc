#include "report/memory_bars.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "report/drawing.h"
#include "report/numbers.h"

namespace sailor::report {
namespace {

constexpr double kLeft = 232;
constexpr double kRight = kPictureWidth - 130;  // the amounts are to the right of it
constexpr double kTop = 24;

struct Part {
  const char* colour;
  const char* name;
  Bytes MemoryBreakdown::*amount;
};

constexpr std::array<Part, 6> kParts{{{"blue", "weights", &MemoryBreakdown::weights},
                                      {"orange", "gradients", &MemoryBreakdown::gradients},
                                      {"green", "optimizer", &MemoryBreakdown::optimizer},
                                      {"purple", "communication", &MemoryBreakdown::communication},
                                      {"sky", "activations in flight", &MemoryBreakdown::activations},
                                      {"grey", "workspace", &MemoryBreakdown::workspace}}};

double gib(Bytes amount) { return amount / gibibytes(1); }

const Accelerator& accelerator_of(const PlanView& view, const StageMemory& memory) {
  return view.cluster.pools[static_cast<std::size_t>(memory.pool)].key.accelerator;
}

Element bar(const PlanView& view, std::size_t stage, const Scale& scale, const Box& lane) {
  const StageMemory& memory = view.details.memory[stage];
  const std::string gpu = accelerator_of(view, memory).str();
  Element group("g");
  group.add(tooltip(fmt::format("stage {}: {} of {} on {}", stage, memory_text(memory.use.total()),
                                memory_text(memory.capacity), gpu)));
  group.add(label({0, lane.y + lane.height / 2 + 4}, fmt::format("{} · {}", stage, gpu)));
  double from = lane.x;
  for (const Part& part : kParts) {
    const Bytes amount = memory.use.*part.amount;
    const double width = scale.at(gib(amount)) - scale.at(0);
    if (width <= 0) continue;
    group.add(rectangle({from, lane.y, width, lane.height}, std::string(part.colour) + " cut")
                  .add(tooltip(fmt::format("{}: {}", part.name, memory_text(amount)))));
    from += width;
  }
  const double limit = scale.at(gib(memory.capacity));
  group.add(line({limit, lane.y - 2}, {limit, lane.y + lane.height + 2}, "limit"));
  const bool is_over = memory.excess() > Bytes(0);
  group.add(label({std::max(from, limit) + 6, lane.y + lane.height / 2 + 4},
                  is_over
                      ? fmt::format("{}: {} too much", memory_text(memory.use.total()), memory_text(memory.excess()))
                      : memory_text(memory.use.total()),
                  is_over ? "strong" : ""));
  return group;
}

}  // namespace

Element memory_bars(const PlanView& view) {
  const std::vector<StageMemory>& stages = view.details.memory;
  double most = 0;
  for (const StageMemory& stage : stages) most = std::max({most, gib(stage.use.total()), gib(stage.capacity)});
  const Scale scale(0, most, kLeft, kRight);
  const double height = std::clamp(420.0 / static_cast<double>(stages.size()), 14.0, 30.0);
  const double bottom = kTop + height * static_cast<double>(stages.size());
  Element svg = picture(bottom + 6, "Memory of every stage");
  svg.add(label({0, kTop - 10}, "stage · GPU", "soft"));
  for (const double tick : scale.ticks(8)) {
    svg.add(line({scale.at(tick), kTop - 6}, {scale.at(tick), bottom}, "grid"));
    svg.add(label({scale.at(tick), kTop - 10}, significant(tick) + " GiB", "soft middle"));
  }
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    const double top = kTop + height * static_cast<double>(stage);
    svg.add(bar(view, stage, scale, {kLeft, top + 2, kRight - kLeft, height - 4}));
  }
  std::vector<LegendEntry> entries;
  entries.reserve(kParts.size() + 1);
  for (const Part& part : kParts) entries.push_back({part.colour, part.name});
  entries.push_back({"red", "limit of the GPU"});
  Element section("section");
  section.add(legend(entries));
  section.add(figure("Peak memory of one GPU of each stage, in the replica that is closest to its limit.", svg));
  return section;
}

}  // namespace sailor::report
