// The HTML page of the Sailor paper's evaluation: the paper's values beside ours.
#pragma once

#include <string>
#include <vector>

#include "report/paper/claims.h"

namespace sailor::report {

std::string paper_page(const std::vector<paper::ExperimentResult>& results);

}  // namespace sailor::report
