// TLS as the operator wants it: the cluster's CA is the only one trusted, and our certificate is shown if we have one.
#pragma once

#include <openssl/ssl.h>

#include "operator/kube/cluster_config.h"

namespace sailor::kube {

// Throws TransportError if the PEM texts cannot be read.
void use_identity(SSL_CTX* context, const ClusterConfig& config);

}  // namespace sailor::kube
