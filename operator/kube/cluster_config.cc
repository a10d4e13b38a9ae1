#include "operator/kube/cluster_config.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "core/net/base64.h"

namespace sailor::kube {
namespace {

namespace fs = std::filesystem;

constexpr const char* kServiceAccount = "var/run/secrets/kubernetes.io/serviceaccount";

Result<std::string> read_file(const fs::path& file) {
  std::ifstream stream(file);
  std::error_code error;
  if (!stream || fs::is_directory(file, error)) {
    return fail(ErrorCode::kNotFound, fmt::format("cannot read {}; is it a file?", file.string()));
  }
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

YAML::Node entry_named(const YAML::Node& list, const std::string& name, const char* key) {
  for (const YAML::Node& entry : list) {
    if (entry["name"].as<std::string>("") == name) return entry[key];
  }
  return YAML::Node(YAML::NodeType::Undefined);
}

// Returns the content of a field such as `certificate-authority`, which is either inline (with the suffix `-data`) or
// in a file beside the kubeconfig. Returns an empty text if neither exists.
Result<std::string> inline_or_file(const YAML::Node& node, const std::string& key, const fs::path& folder) {
  if (const auto data = node[key + "-data"]) {
    auto decoded = net::decode_base64(data.as<std::string>());
    if (!decoded) return tl::unexpected(std::move(decoded).error().within("reading " + key + "-data of a kubeconfig"));
    return decoded;
  }
  if (const auto file = node[key]) return read_file(folder / file.as<std::string>());
  return std::string();
}

Result<ClusterConfig> config_from(const YAML::Node& yaml, const fs::path& file) {
  const auto context = entry_named(yaml["contexts"], yaml["current-context"].as<std::string>(""), "context");
  if (!context)
    return fail(ErrorCode::kInvalidArgument, fmt::format("{}: current-context names no context", file.string()));
  const auto cluster = entry_named(yaml["clusters"], context["cluster"].as<std::string>(""), "cluster");
  const auto user = entry_named(yaml["users"], context["user"].as<std::string>(""), "user");
  if (!cluster || !user) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: the context's cluster or user is missing", file.string()));
  }
  auto ca = inline_or_file(cluster, "certificate-authority", file.parent_path());
  auto cert = inline_or_file(user, "client-certificate", file.parent_path());
  auto key = inline_or_file(user, "client-key", file.parent_path());
  for (const auto* part : {&ca, &cert, &key}) {
    if (!*part) return tl::unexpected(part->error());
  }
  ClusterConfig config;
  config.server = cluster["server"].as<std::string>("");
  if (config.server.starts_with("https:") && ca->empty()) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: the cluster has no certificate-authority; name a file with the CA of its API server, or "
                    "one with all public CAs such as /etc/ssl/certs/ca-certificates.crt",
                    file.string()));
  }
  config.ca_pem = *ca;
  config.client_cert_pem = *cert;
  config.client_key_pem = *key;
  config.token = user["token"].as<std::string>("");
  if (user["tokenFile"]) config.token_file = user["tokenFile"].as<std::string>();
  config.namespace_name = context["namespace"].as<std::string>("default");
  return config;
}

}  // namespace

Result<ClusterConfig> in_cluster_config(const fs::path& root) {
  const std::string host = environment("KUBERNETES_SERVICE_HOST");
  const std::string port = environment("KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty()) {
    return fail(ErrorCode::kNotFound,
                "looking for the API server: KUBERNETES_SERVICE_HOST and _PORT are not set, so this is no pod; "
                "name a kubeconfig with --kubeconfig or KUBECONFIG");
  }
  const fs::path folder = root / kServiceAccount;
  auto ca = read_file(folder / "ca.crt");
  if (!ca) return tl::unexpected(std::move(ca).error());
  auto namespace_name = read_file(folder / "namespace");
  ClusterConfig config;
  config.server =
      fmt::format(fmt::runtime(host.find(':') == std::string::npos ? "https://{}:{}" : "https://[{}]:{}"), host, port);
  config.ca_pem = *ca;
  config.token_file = folder / "token";
  config.namespace_name = namespace_name.value_or("default");
  return config;
}

Result<ClusterConfig> kubeconfig(const fs::path& file) {
  const auto text = read_file(file);
  if (!text) return tl::unexpected(Error(text.error()).within("reading the kubeconfig"));
  try {
    return config_from(YAML::Load(*text), file);
  } catch (const YAML::Exception& error) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("reading the kubeconfig {}: {}", file.string(), error.what()));
  }
}

Result<ClusterConfig> find_config(const std::string& kubeconfig_file) {
  if (!kubeconfig_file.empty()) return kubeconfig(kubeconfig_file);
  if (const std::string file = environment("KUBECONFIG"); !file.empty()) return kubeconfig(file);
  return in_cluster_config();
}

}  // namespace sailor::kube
