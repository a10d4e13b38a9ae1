// HttpTransport: Transport over core/net, with the identity of ClusterConfig. Only the CA of the cluster is trusted.
#pragma once

#include "core/net/http_client.h"
#include "operator/kube/cluster_config.h"
#include "operator/kube/token.h"
#include "operator/kube/transport.h"

namespace sailor::kube {

class HttpTransport : public Transport {
 public:
  explicit HttpTransport(const ClusterConfig& config, std::chrono::milliseconds timeout = std::chrono::seconds(15));

  HttpResponse send(const HttpRequest& request) override;
  HttpResponse stream(const HttpRequest& request, const ChunkSink& sink, std::stop_token stop) override;

 private:
  [[nodiscard]] HttpRequest identified(HttpRequest request);

  Token token_;
  net::HttpClient client_;
};

}  // namespace sailor::kube
