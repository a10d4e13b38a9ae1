#include "report/stage_map.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "report/drawing.h"
#include "report/numbers.h"
#include "report/plan_view.h"

namespace sailor::report {
namespace {

constexpr std::size_t kMaxZones = 8;  // with more zones the columns are regions
constexpr std::array kColours = {"blue", "orange", "green", "purple", "sky", "red", "grey"};

// How places and accelerators of one plan are shown.
class StageMap {
 public:
  explicit StageMap(const Plan& plan) : plan_(plan) {
    std::set<Zone> zones;
    for (const auto& [pool, gpus] : gpus_by_pool(plan)) {
      zones.insert(pool.zone);
      colours_.emplace(pool.accelerator, kColours.at(colours_.size() % kColours.size()));
    }
    is_by_region_ = zones.size() > kMaxZones;
    for (const Zone& zone : zones) places_.insert(place_of(zone));
  }

  [[nodiscard]] Element draw() const {
    Element head("tr");
    for (const char* name : {"Stage", "Layers"}) head.add(Element("th").text(name));
    for (const std::string& place : places_) head.add(Element("th").text(place));
    Element body("tbody");
    for (const StageRun& run : runs_of_equal_stages(plan_)) body.add(row_of(run));
    Element table("table");
    table.add(Element("thead").add(head)).add(body);
    return figure("Every microbatch of a step passes through one replica of each stage.", table);
  }

  [[nodiscard]] Element colours() const {
    std::vector<LegendEntry> entries;
    entries.reserve(colours_.size());
    for (const auto& [accelerator, colour] : colours_) entries.push_back({colour, accelerator.str()});
    return legend(entries);
  }

 private:
  [[nodiscard]] std::string place_of(const Zone& zone) const {
    return is_by_region_ ? region_of(zone).str() : zone.str();
  }

  [[nodiscard]] Element row_of(const StageRun& run) const {
    std::map<std::string, std::vector<SimilarReplicas>> groups;
    for (SimilarReplicas& similar : similar_replicas(plan_, run.first)) {
      const Replica& replica = plan_.stages[run.first].replicas[similar.replicas.front()];
      groups[place_of(replica.pool.zone)].push_back(std::move(similar));
    }
    Element row("tr");
    row.add(Element("td").text(stages_text(run))).add(Element("td").text(layers_text(plan_, run)));
    for (const std::string& place : places_) {
      Element cell("td");
      if (const auto here = groups.find(place); here != groups.end()) {
        for (const SimilarReplicas& similar : here->second) cell.add(chip(similar));
      }
      row.add(cell);
    }
    return row;
  }

  [[nodiscard]] Element chip(const SimilarReplicas& similar) const {
    const Replica& replica = plan_.stages[similar.stage].replicas[similar.replicas.front()];
    return Element("div", {{"class", std::string("chip ") + colours_.at(replica.pool.accelerator)}})
        .text(is_by_region_ ? similar_text(plan_, similar) : similar_text_without_zone(plan_, similar));
  }

  const Plan& plan_;
  bool is_by_region_ = false;
  std::set<std::string> places_;
  std::map<Accelerator, const char*> colours_;
};

}  // namespace

Element stage_map(const Plan& plan) {
  const StageMap map(plan);
  Element section("section");
  section.add(map.colours()).add(map.draw());
  return section;
}

}  // namespace sailor::report
