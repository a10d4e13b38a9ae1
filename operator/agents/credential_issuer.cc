#include "operator/agents/credential_issuer.h"

#include <utility>

#include <fmt/format.h>

#include "core/net/base64.h"
#include "core/protocol/credentials.h"
#include "operator/model/names.h"

namespace sailor {
namespace {

using kube::Json;

constexpr std::chrono::hours kAuthorityValidity{10 * 365 * 24};

net::ValidityPeriod period_from(Time now, std::chrono::hours validity) {
  const auto second = std::chrono::floor<std::chrono::seconds>(now);
  return {second - kClockTolerance, second + validity};
}

Result<net::CertificateAuthority> authority_in(const Json& secret) {
  auto certificate = net::decode_base64(kube::text_at(secret, {"data", kCertificateFile}));
  if (!certificate) return tl::unexpected(std::move(certificate).error());
  auto key = net::decode_base64(kube::text_at(secret, {"data", kKeyFile}));
  if (!key) return tl::unexpected(std::move(key).error());
  return net::CertificateAuthority::from({*std::move(certificate), *std::move(key)});
}

kube::ApiResult<net::CertificateAuthority> read_authority(const Json& secret) {
  auto authority = authority_in(secret);
  if (authority) return *std::move(authority);
  return tl::unexpected(kube::ApiError{
      0,
      "InvalidAuthority",
      fmt::format("reading the CA in Secret {}: {}; restore the Secret, or delete it and start the operator again, "
                  "which then makes a new CA, and running jobs start again",
                  to_string(kube::key_of(secret)), authority.error().message),
      {}});
}

Json secret_of(const net::CertificateAuthority& authority, const JobKey& name) {
  return {{"apiVersion", kube::kSecrets.group_version},
          {"kind", kube::kSecrets.kind},
          {"metadata",
           {{"name", name.name},
            {"namespace", name.namespace_name},
            {"labels", {{kManagedByLabel, kOperatorName}, {"app.kubernetes.io/part-of", "sailor"}}}}},
          {"type", "kubernetes.io/tls"},
          {"stringData", {{kCertificateFile, authority.identity().certificate}, {kKeyFile, authority.identity().key}}}};
}

}  // namespace

kube::ApiResult<net::CertificateAuthority> find_authority(kube::Api& api, const JobKey& secret, Time now) {
  auto existing = api.get(kube::kSecrets, secret);
  if (existing) return read_authority(*existing);
  if (!existing.error().is_not_found()) return tl::unexpected(std::move(existing).error());
  auto made = net::CertificateAuthority::create(fmt::format("Sailor in namespace {}", secret.namespace_name),
                                                period_from(now, kAuthorityValidity));
  auto created = api.create(kube::kSecrets, secret_of(made, secret));
  if (created) return made;
  if (!created.error().already_exists()) return tl::unexpected(std::move(created).error());
  existing = api.get(kube::kSecrets, secret);  // another replica was faster
  if (!existing) return tl::unexpected(std::move(existing).error());
  return read_authority(*existing);
}

net::TlsSettings CredentialIssuer::identity_of(const std::string& uri) const {
  net::Identity identity = authority_.issue(uri, period_from(clock_(), kCertificateValidity));
  return {.ca = authority_.identity().certificate,
          .certificate = std::move(identity.certificate),
          .key = std::move(identity.key)};
}

net::TlsSettings CredentialIssuer::issue(const JobKey& job) const { return identity_of(job_uri(job)); }

std::shared_ptr<const net::TlsSettings> CredentialIssuer::own() {
  const std::lock_guard lock(mutex_);
  const Time now = clock_();
  if (own_ == nullptr || now - own_since_ > kCertificateRenewal || now < own_since_) {
    own_ = std::make_shared<const net::TlsSettings>(identity_of(operator_uri()));
    own_since_ = now;
  }
  return own_;
}

}  // namespace sailor
