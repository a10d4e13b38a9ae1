// HealthServer: /healthz (the loop is alive) and /readyz (the caches are filled), for the kubelet's probes.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace sailor {

class HealthServer {
 public:
  // "http://127.0.0.1:8081"; throws std::exception if the address is taken.
  HealthServer(const std::string& url, std::function<bool()> is_alive, std::function<bool()> is_ready);
  ~HealthServer();
  HealthServer(const HealthServer&) = delete;
  HealthServer& operator=(const HealthServer&) = delete;

 private:
  struct Listener;
  std::unique_ptr<Listener> listener_;
};

}  // namespace sailor
