#include "operator/metrics/metrics_route.h"

#include "core/net/gzip.h"
#include "operator/metrics/metrics_text.h"

namespace sailor {

net::Route metrics_route(const Metrics& metrics) {
  return {"GET", "/metrics", [&metrics](const net::HttpCall& call) {
            net::HttpAnswer answer{.body = metrics.text(), .content_type = kMetricsContentType};
            return call.accepts_gzip ? net::gzipped(std::move(answer)) : answer;
          }};
}

}  // namespace sailor
