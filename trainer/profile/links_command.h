// The command `sailor-trainer links`: measures bandwidth and latency between two workers, and what runs beside compute.
// Prints a NetworkModel.
#pragma once

#include <string>
#include <vector>

#include "core/model/error.h"
#include "trainer/device/device.h"

namespace sailor::trainer {

struct LinksOptions {
  int rank = 0;       // 0 on one machine, 1 on the other
  std::string host;   // address of this machine; if empty, both ends are threads of this process
  std::string store;  // address of the machine with rank 0
  int port = 7079;    // port of the rendezvous store on the machine with rank 0
  DeviceChoice device = DeviceChoice::kAuto;  // on a GPU, the first of this pod sends and sums its own tensors
  std::vector<std::string> zones;  // the zones from and to; if empty, the manifest describes the link within a node
};

// Returns the manifest as YAML on the machine with rank 0, and an empty text on the other machine.
Result<std::string> measure_links(const LinksOptions& options);

}  // namespace sailor::trainer
