#pragma once

#include "core/net/http_server.h"
#include "operator/metrics/metrics.h"

namespace sailor {

net::Route metrics_route(const Metrics& metrics);  // GET /metrics, which Prometheus scrapes

}  // namespace sailor
