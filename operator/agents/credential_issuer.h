// CredentialIssuer: the operator's CA, and the certificates that it signs (core/protocol/credentials.h).
#pragma once

#include <memory>
#include <mutex>

#include "core/net/certificate_authority.h"
#include "operator/kube/api.h"

namespace sailor {

// Reads the CA from the Secret, or makes one and creates the Secret. All replicas of a release use the same one.
kube::ApiResult<net::CertificateAuthority> find_authority(kube::Api& api, const JobKey& secret, Time now);

// Any thread may call the functions.
class CredentialIssuer {
 public:
  explicit CredentialIssuer(net::CertificateAuthority authority, Clock clock = system_time)
      : authority_(std::move(authority)), clock_(std::move(clock)) {}

  // The identity of the operator: the same pointer until its certificate is replaced, which happens each day.
  std::shared_ptr<const net::TlsSettings> own();
  // A new identity of a job.
  [[nodiscard]] net::TlsSettings issue(const JobKey& job) const;

 private:
  [[nodiscard]] net::TlsSettings identity_of(const std::string& uri) const;

  const net::CertificateAuthority authority_;
  const Clock clock_;
  std::mutex mutex_;
  std::shared_ptr<const net::TlsSettings> own_;
  Time own_since_;
};

}  // namespace sailor
