#include "operator/health_routes.h"

#include <string>

#include "core/protocol/endpoints.h"

namespace sailor {
namespace {

constexpr int kUnavailable = 503;

net::Route probe(std::string path, std::function<bool()> is_well) {
  return {"GET", std::move(path), [is_well = std::move(is_well)](const net::HttpCall&) {
            return is_well() ? net::HttpAnswer{.body = "ok"} : net::HttpAnswer{kUnavailable, "not yet"};
          }};
}

}  // namespace

std::vector<net::Route> health_routes(std::function<bool()> is_alive, std::function<bool()> is_ready) {
  return {probe(std::string(kHealthPath), std::move(is_alive)), probe("/readyz", std::move(is_ready))};
}

}  // namespace sailor
