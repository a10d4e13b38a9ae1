// The results of `sailor paper` for terminals, for programs and for pages of the documentation.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "report/paper/claims.h"

namespace sailor::cli {

std::string paper_table(const std::vector<paper::ExperimentResult>& results);
nlohmann::json paper_json(const std::vector<paper::ExperimentResult>& results);
// Only the claims, which are few enough for a page.
std::string paper_markdown(const std::vector<paper::ExperimentResult>& results);

}  // namespace sailor::cli
