// HttpTransport: Transport over cpprestsdk. TLS is always verified, against the cluster's CA alone.
#pragma once

#include <memory>

#include "operator/kube/cluster_config.h"
#include "operator/kube/transport.h"

namespace sailor::kube {

// To be called once, before any client or server exists: the library's own default of 40 threads makes it slow.
void start_http_threads(unsigned threads = 4);

class HttpTransport : public Transport {
 public:
  explicit HttpTransport(const ClusterConfig& config, std::chrono::seconds timeout = std::chrono::seconds(15));
  ~HttpTransport() override;

  HttpResponse send(const HttpRequest& request) override;
  HttpResponse stream(const HttpRequest& request, const ChunkSink& sink, std::stop_token stop) override;

 private:
  struct Clients;
  std::unique_ptr<Clients> clients_;
};

}  // namespace sailor::kube
