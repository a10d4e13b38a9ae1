// The command `sailor-trainer links`.
#pragma once

#include <string>
#include <vector>

#include "core/model/error.h"

namespace sailor::trainer {

struct LinksCommand {
  int rank = 0;                    // 0 on one machine, 1 on the other
  std::string host;                // own address; empty: both ends are threads of this process
  std::string store;               // address of the machine with rank 0
  int port = 7079;                 // at which they meet
  std::vector<std::string> zones;  // from and to; empty: the link is that within a node
};

// A NetworkModel; nothing on the machine with rank 1.
Result<std::string> measure_links(const LinksCommand& command);

}  // namespace sailor::trainer
