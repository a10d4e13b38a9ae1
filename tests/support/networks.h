// Networks for tests.
#pragma once

#include "core/model/network_model.h"

namespace sailor::testing {

// Links that cost nothing, so that only passes take time.
inline NetworkModel free_network() {
  NetworkModel network = google_cloud_network();
  for (Link& link : network.tiers) link = {BytesPerSecond(1e30), Seconds(0), dollars_per_gigabyte(0)};
  return network;
}

}  // namespace sailor::testing
