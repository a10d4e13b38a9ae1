// The front: plans by throughput and cost of an iteration, with the chosen one, the job's limits and the bound.
#pragma once

#include "report/markup.h"
#include "report/offers.h"

namespace sailor::report {

Element front_chart(const JobSpec& job, const std::vector<Offer>& offers, double bound_throughput);

}  // namespace sailor::report
