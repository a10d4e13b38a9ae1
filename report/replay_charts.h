// The pictures of a replay: quantities over time, and where the time went.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "report/markup.h"
#include "report/replay_results.h"

namespace sailor::report {

// A quantity over time that is constant within a period.
struct Curve {
  std::string colour;
  std::function<double(const ReplayPeriod&)> value;
};

// Areas over time, in the order in which they are drawn.
Element areas_over_time(const ReplayReport& report, const std::string& name, const std::vector<Curve>& curves);

// The steps that each policy has completed, over time.
Element steps_over_time(const ReplayResults& results);

// A bar for each policy, which shows the time that was useful and the time that was lost, by cause.
Element time_bars(const ReplayResults& results);

// The legends of the two pictures.
Element legend_of_policies(const ReplayResults& results);
Element legend_of_times();

}  // namespace sailor::report
