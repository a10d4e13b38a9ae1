// CredentialIssuer: the operator's CA, and the certificates that it signs (core/protocol/credentials.h).
//
// A CA may be replaced while jobs run: its Secret is deleted, or somebody puts another CA into it. Then for a while
// both sides trust the old CA and the new one (docs/decisions/0053-two-cas-for-a-while.md):
//
// 1. At first the certificates stay. The jobs' Secrets get the new CA, and agents read it.
// 2. After kTrustOverlap all agents trust both, and the operator and the jobs get certificates of the new CA.
// 3. Once no certificate of the old CA is valid any more, nobody trusts it. An administrator may demand that at once.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "core/net/certificate_authority.h"
#include "operator/kube/api.h"
#include "operator/model/observation.h"

namespace sailor {

// The time in which each agent reads a new CA. The kubelet needs up to about two minutes to show it.
inline constexpr std::chrono::minutes kTrustOverlap{20};

// The annotation of the Secret with the CA that ends the trust in the CAs before it at once: "true".
inline constexpr const char* kDistrustAnnotation = "sailor.dev/distrust-previous-cas";

// Returns the name of the Secret with the operator's own certificate and the CAs that it trusts. It outlives the Secret
// with the CA, so an operator that starts knows what its agents trust.
JobKey identity_secret(const JobKey& ca_secret);

struct Authorities {
  net::CertificateAuthority current;       // signs
  std::vector<std::string> previous = {};  // the certificates of the CAs before it that are trusted, the newest first
  Time changed_at = {};                    // when it changed whom the operator trusts; Time(): never
  net::Identity own = {};                  // the operator's certificate

  [[nodiscard]] std::string trusted() const;  // the certificates of all these CAs
  // Returns whether agents may not trust the current CA yet.
  [[nodiscard]] bool keeps_certificates(Time now) const;
};

// Reads the CA from its Secret, or makes one and creates the Secret, and brings the Secret with the operator's identity
// up to date. All replicas of a release use the same ones. `known` is what this process has found before; null: it has
// just started.
kube::ApiResult<Authorities> find_authorities(kube::Api& api, const JobKey& ca_secret, const Authorities* known,
                                              Time now);

// Any thread may call the functions.
class CredentialIssuer {
 public:
  explicit CredentialIssuer(Authorities authorities, Clock clock = system_time);

  // Returns whether it has changed whom the operator trusts.
  bool replace(Authorities authorities);
  [[nodiscard]] Authorities authorities() const;

  // The identity of the operator: the same pointer until its certificate or the trusted CAs are replaced.
  [[nodiscard]] std::shared_ptr<const net::TlsSettings> own() const;
  // A new identity of a job.
  [[nodiscard]] net::TlsSettings issue(const JobKey& job) const;
  // Empty: it never changed whom the operator trusts.
  [[nodiscard]] std::optional<TrustChange> trust_change() const;

 private:
  const Clock clock_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Authorities> authorities_;
  std::shared_ptr<const net::TlsSettings> own_;
};

}  // namespace sailor
