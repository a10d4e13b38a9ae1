// The command `sailor-trainer links`: measures bandwidth and latency between two workers, and what runs beside compute.
// Prints a NetworkModel.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "core/model/error.h"
#include "trainer/device/device.h"

namespace sailor::trainer {

struct LinksOptions {
  int rank = 0;       // of this end; the one with rank 0 prints the manifest
  std::string host;   // IP address of this end; if empty, both ends are threads of this process
  std::string store;  // with rank 1: an address or a name that leads to the end with rank 0
  int port = 7079;    // port of the rendezvous store, at the end with rank 0
  std::chrono::milliseconds patience = std::chrono::minutes(10);  // how long an end waits for the other
  DeviceChoice device = DeviceChoice::kAuto;  // on a GPU, the first of this pod sends and sums its own tensors
  std::vector<std::string> zones;  // the zones from and to; if empty, the manifest describes the link within a node
};

// Returns the manifest as YAML at the end with rank 0, and an empty text at the other end. The ends may be started in
// any order.
Result<std::string> measure_links(const LinksOptions& options);

}  // namespace sailor::trainer
