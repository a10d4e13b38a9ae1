// ClusterConfig: the address of the API server, the CA to trust, and the identity of the operator.
#pragma once

#include <filesystem>
#include <string>

#include "core/model/error.h"

namespace sailor::kube {

struct ClusterConfig {
  std::string server;                // "https://10.0.0.1:443"
  std::string ca_pem;                // the only CA that is trusted; empty only for plain http
  std::filesystem::path token_file;  // holds the bearer token, and is read again because it is rotated; empty: none
  std::string token;                 // a fixed bearer token from a kubeconfig; empty: none
  std::string client_cert_pem;
  std::string client_key_pem;
  std::string namespace_name;  // the namespace in which the operator runs
};

// Reads the environment of the pod and the volume of its service account. Tests pass a `root` other than "/".
Result<ClusterConfig> in_cluster_config(const std::filesystem::path& root = "/");
// Reads the current context of a kubeconfig: client certificates or a token, inline or in files.
Result<ClusterConfig> kubeconfig(const std::filesystem::path& file);
// Reads the kubeconfig that the argument or KUBECONFIG names, or else the configuration of the pod.
Result<ClusterConfig> find_config(const std::string& kubeconfig_file);

}  // namespace sailor::kube
