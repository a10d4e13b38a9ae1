// The paths that the kubelet probes: /healthz says whether the reconcile loop is alive, /readyz whether the caches are
// filled. Both answer 200 or 503.
#pragma once

#include <functional>
#include <vector>

#include "core/net/http_server.h"

namespace sailor {

std::vector<net::Route> health_routes(std::function<bool()> is_alive, std::function<bool()> is_ready);

}  // namespace sailor
