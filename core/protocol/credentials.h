// Credentials: how the operator and the agents of a job prove to each other who they are, by mutual TLS. The operator
// signs a certificate for each job and keeps it in a Secret that the job's pods mount. See docs/security.md.
#pragma once

#include <chrono>
#include <string>

#include "core/model/ids.h"

namespace sailor {

// The folder in a trainer pod, and its files: the CA of the operator, the certificate of the job, and its key. A pod
// has the files for as long as it runs; their contents change.
inline constexpr const char* kCredentialsFolder = "/etc/sailor/credentials";
inline constexpr const char* kCaFile = "ca.crt";
inline constexpr const char* kCertificateFile = "tls.crt";
inline constexpr const char* kKeyFile = "tls.key";

// The operator replaces the certificate of a job each day. A job can do without the operator for the rest of the time.
inline constexpr std::chrono::hours kCertificateValidity{30 * 24};
inline constexpr std::chrono::hours kCertificateRenewal{20};
// A certificate is valid from this long before it was made, because clocks differ.
inline constexpr std::chrono::hours kClockTolerance{24};

// The URIs that certificates contain, after SPIFFE (https://spiffe.io).
inline std::string operator_uri() { return "spiffe://sailor.dev/operator"; }
inline std::string job_uri(const JobKey& job) {
  return "spiffe://sailor.dev/namespaces/" + job.namespace_name + "/jobs/" + job.name;
}

}  // namespace sailor
