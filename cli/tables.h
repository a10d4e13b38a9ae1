// Plans and estimates as text for people, at most 100 columns wide.
#pragma once

#include <string>
#include <vector>

#include "core/model/execution_model.h"
#include "planner/planner.h"

namespace sailor::cli {

// Aligns cells in columns as wide as their widest cell. The first row is the heading.
std::string table(const std::vector<std::vector<std::string>>& rows);

std::string describe_plan(const Plan& plan, const Estimate& estimate);
std::string describe_estimate(const Estimate& estimate);
std::string describe_basis(const EstimateBasis& basis);
std::string describe_search(const PlannedJob& planned);
std::string describe_alternatives(const JobSpec& job, const PlannedJob& planned);

}  // namespace sailor::cli
