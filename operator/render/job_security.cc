#include "operator/render/job_security.h"

#include "core/net/base64.h"
#include "core/protocol/credentials.h"
#include "core/protocol/ports.h"
#include "operator/kube/resource.h"
#include "operator/model/names.h"
#include "operator/model/owned_object.h"

namespace sailor {

using kube::Json;

Json credentials_secret(const JobView& job, const net::TlsSettings& credentials) {
  return {{"apiVersion", kube::kSecrets.group_version},
          {"kind", kube::kSecrets.kind},
          {"metadata", metadata_of_owned(credentials_name(job.key.name, job.uid), job.key, job.uid)},
          {"type", "kubernetes.io/tls"},
          {"data",
           {{kCaFile, net::encode_base64(credentials.ca)},
            {kCertificateFile, net::encode_base64(credentials.certificate)},
            {kKeyFile, net::encode_base64(credentials.key)}}}};
}

Json job_network_policy(const JobView& job) {
  const Json pods_of_job = {{"matchLabels", {{kJobUidLabel, job.uid}}}};
  const Json from_them = {{"from", Json::array({{{"podSelector", pods_of_job}}})}};
  const Json to_agents = {{"ports", Json::array({{{"port", kAgentPort}, {"protocol", "TCP"}}})}};
  return {{"apiVersion", kube::kNetworkPolicies.group_version},
          {"kind", kube::kNetworkPolicies.kind},
          {"metadata", metadata_of_owned(network_policy_name(job.key.name, job.uid), job.key, job.uid)},
          {"spec",
           {{"podSelector", pods_of_job},
            {"policyTypes", Json::array({"Ingress"})},
            {"ingress", Json::array({from_them, to_agents})}}}};
}

}  // namespace sailor
