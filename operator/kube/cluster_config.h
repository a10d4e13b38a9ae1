// ClusterConfig: where the API server is, whom to trust, and who we are.
#pragma once

#include <filesystem>
#include <string>

#include "core/model/error.h"

namespace sailor::kube {

struct ClusterConfig {
  std::string server;                // "https://10.0.0.1:443"
  std::string ca_pem;                // trusted besides nobody; empty only for plain http
  std::filesystem::path token_file;  // read again as it is rotated; empty: none
  std::string token;                 // fixed, of a kubeconfig; empty: none
  std::string client_cert_pem;
  std::string client_key_pem;
  std::string space;  // the namespace that we run in
};

// From the pod's environment and the service account's volume. `root` stands for "/" in tests.
Result<ClusterConfig> in_cluster_config(const std::filesystem::path& root = "/");
// The current context of a kubeconfig: client certificates or a token, inline or in files.
Result<ClusterConfig> kubeconfig(const std::filesystem::path& file);
// A kubeconfig if one is named, by argument or by KUBECONFIG; else that of the pod.
Result<ClusterConfig> find_config(const std::string& kubeconfig_file);

}  // namespace sailor::kube
