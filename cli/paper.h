// `sailor paper`: repeats the evaluation of the Sailor paper, and shows the paper's values beside ours.
#pragma once

#include <iosfwd>
#include <stop_token>

#include "cli/options.h"

namespace sailor::cli {

struct PaperArguments {
  std::string artifact;           // folder of Sailor's artifact
  std::string peer_plans;         // folder of recorded plans; empty: none are compared
  std::string measured;           // folder of measured runs; empty: the errors of the simulator are left out
  std::vector<std::string> only;  // ids of experiments; empty: all
  Format format = Format::kTable;
};

Result<void> run_paper(const PaperArguments& arguments, std::ostream& out, std::stop_token stop);

}  // namespace sailor::cli
