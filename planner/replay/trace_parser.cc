#include "planner/replay/trace_parser.h"

#include "planner/replay/event_trace.h"
#include "planner/replay/sampled_trace.h"

namespace sailor {

Result<Trace> parse_trace(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) {
    return fail(ErrorCode::kInvalidArgument, "line 1, column 1: the file is empty; record at least two samples");
  }
  if (text[first] == '{') return counts_at_gaps(text);
  if (text[first] != '[') return samples_of_csv(text);
  const auto second = text.find_first_not_of(" \t\r\n", first + 1);
  return second != std::string::npos && text[second] == '{' ? samples_of_gpus(text) : events_of_nodes(text);
}

Result<std::vector<PriceChange>> parse_prices(const std::string& text) { return samples_of_prices(text); }

}  // namespace sailor
