#include "report/cost_tables.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/drawing.h"
#include "report/numbers.h"

namespace sailor::report {
namespace {

constexpr std::size_t kMaxLinks = 20;

class CostTables {
 public:
  explicit CostTables(const PlanView& view) : view_(view) {}

  [[nodiscard]] Element gpus() const {
    std::vector<Row> rows;
    for (const PoolCharge& charge : view_.details.charges) {
      const double hourly = charge.price_per_gpu.value() * charge.paid;
      const std::string unused =
          charge.paid > charge.used
              ? fmt::format(" (and {} unused, because whole nodes are paid for)", counted(charge.paid - charge.used))
              : "";
      rows.push_back({{pool_text(charge.pool) + unused, counted(charge.used), money(charge.price_per_gpu.value()),
                       money(hourly), money(charge.cost.value()), share(charge.cost)}});
    }
    const Dollars all = view_.estimate.gpu_cost_per_iteration;
    rows.push_back(
        {{"All GPUs", counted(gpu_count(view_.plan)), "", money(per_hour(all)), money(all.value()), share(all)},
         "total"});
    return table(
        {{"GPUs"}, {"used", true}, {"$/GPU/hour", true}, {"$/hour", true}, {"$/iteration", true}, {"share", true}},
        rows);
  }

  [[nodiscard]] Element traffic() const {
    std::vector<ZoneTraffic> links = view_.details.traffic;
    std::ranges::stable_sort(links, [](const ZoneTraffic& a, const ZoneTraffic& b) {
      return std::pair(a.cost, a.bytes()) > std::pair(b.cost, b.bytes());
    });
    std::vector<Row> rows;
    const std::size_t shown = std::min(links.size(), kMaxLinks);
    rows.reserve(shown + 2);
    for (std::size_t i = 0; i < shown; ++i) rows.push_back(row_of(links[i]));
    if (shown < links.size()) rows.push_back(rest_of(links, shown));
    const Dollars all = view_.estimate.traffic_cost_per_iteration;
    rows.push_back({{"All traffic", "", "", money(per_hour(all)), money(all.value()), share(all)}, "total"});
    return table({{"Traffic per iteration"},
                  {"activations", true},
                  {"gradient sync", true},
                  {"$/hour", true},
                  {"$/iteration", true},
                  {"share", true}},
                 rows);
  }

  [[nodiscard]] Element total() const {
    const double each = view_.estimate.cost_per_iteration().value();
    const auto steps = static_cast<double>(view_.job.training.steps);
    return Element("p").text(fmt::format(
        "The plan costs {} per iteration and {} per hour. The job's {} take {} and cost {} if nothing changes.",
        money(each), money(view_.estimate.cost_per_hour.value()),
        counted(static_cast<long>(view_.job.training.steps), "step"), duration(view_.estimate.iteration * steps),
        money(each * steps)));
  }

 private:
  [[nodiscard]] double per_hour(Dollars cost) const { return (cost / view_.estimate.iteration).value(); }
  [[nodiscard]] std::string share(Dollars cost) const {
    const Dollars all = view_.estimate.cost_per_iteration();
    return all > Dollars(0) ? percent(cost / all) : "";
  }
  [[nodiscard]] Row row_of(const ZoneTraffic& link) const {
    const std::string where =
        link.from == link.to ? "within " + link.from.str() : fmt::format("{} to {}", link.from.str(), link.to.str());
    return {{where, traffic_text(link.activations), traffic_text(link.gradients), money(per_hour(link.cost)),
             money(link.cost.value()), share(link.cost)}};
  }
  [[nodiscard]] Row rest_of(const std::vector<ZoneTraffic>& links, std::size_t shown) const {
    ZoneTraffic sum;
    for (std::size_t i = shown; i < links.size(); ++i) {
      sum.activations += links[i].activations;
      sum.gradients += links[i].gradients;
      sum.cost += links[i].cost;
    }
    Row row = row_of(sum);
    row.cells.front() = fmt::format("{} others together", links.size() - shown);
    return row;
  }

  const PlanView& view_;
};

}  // namespace

Element cost_tables(const PlanView& view) {
  const CostTables tables(view);
  Element section("section");
  section.add(tables.total()).add(figure("", tables.gpus()));
  if (!view.details.traffic.empty()) section.add(figure("", tables.traffic()));
  return section;
}

}  // namespace sailor::report
