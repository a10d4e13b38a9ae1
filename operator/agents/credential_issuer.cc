#include "operator/agents/credential_issuer.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/net/base64.h"
#include "core/protocol/credentials.h"
#include "operator/model/names.h"

namespace sailor {
namespace {

using kube::Json;

constexpr std::chrono::hours kAuthorityValidity{10 * 365 * 24};
constexpr const char* kTrustChangedAnnotation = "sailor.dev/trust-changed-at";

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

kube::ApiError unusable(const Json& secret, const Error& error, std::string_view remedy) {
  return {0,
          "InvalidAuthority",
          fmt::format("reading the CA in Secret {}: {}; {}", to_string(kube::key_of(secret)), error.message, remedy),
          {}};
}

struct FoundAuthority {
  net::CertificateAuthority authority;
  bool distrusts_previous = false;
};

kube::ApiResult<FoundAuthority> read_authority(const Json& secret) {
  auto authority = authority_in(secret);
  if (authority)
    return FoundAuthority{*std::move(authority), kube::annotation_of(secret, kDistrustAnnotation) == "true"};
  return tl::unexpected(unusable(secret, authority.error(),
                                 "restore the Secret, or delete it: the operator then makes a new CA, which running "
                                 "jobs get without a pause"));
}

Json secret_of(const JobKey& name, const net::Identity& identity) {
  return {
      {"apiVersion", kube::kSecrets.group_version},
      {"kind", kube::kSecrets.kind},
      {"metadata",
       {{"name", name.name},
        {"namespace", name.namespace_name},
        {"labels", {{kManagedByLabel, kOperatorName}, {"app.kubernetes.io/part-of", "sailor"}}}}},
      {"type", "kubernetes.io/tls"},
      {"data",
       {{kCertificateFile, net::encode_base64(identity.certificate)}, {kKeyFile, net::encode_base64(identity.key)}}}};
}

kube::ApiResult<FoundAuthority> find_authority(kube::Api& api, const JobKey& secret, Time now) {
  auto existing = api.get(kube::kSecrets, secret);
  if (existing) return read_authority(*existing);
  if (!existing.error().is_not_found()) return tl::unexpected(std::move(existing).error());
  auto made = net::CertificateAuthority::create(fmt::format("Sailor in namespace {}", secret.namespace_name),
                                                period_from(now, kAuthorityValidity));
  auto created = api.create(kube::kSecrets, secret_of(secret, made.identity()));
  if (created) return FoundAuthority{std::move(made)};
  if (!created.error().already_exists()) return tl::unexpected(std::move(created).error());
  existing = api.get(kube::kSecrets, secret);  // another replica was faster
  if (!existing) return tl::unexpected(std::move(existing).error());
  return read_authority(*existing);
}

std::vector<std::string> certificates_in(const std::string& bundle) {
  constexpr std::string_view kEnd = "-----END CERTIFICATE-----\n";
  std::vector<std::string> certificates;
  std::size_t begin = 0;
  for (auto end = bundle.find(kEnd); end != std::string::npos; end = bundle.find(kEnd, begin)) {
    certificates.push_back(bundle.substr(begin, end + kEnd.size() - begin));
    begin = end + kEnd.size();
  }
  return certificates;
}

// What has been known before.
struct Before {
  std::vector<std::string> trusted;  // the newest first
  Time changed_at;
  net::Identity own;
};

std::optional<Before> before_of(const Json& secret) {
  const auto text = [&](const char* field) {
    return net::decode_base64(kube::text_at(secret, {"data", field})).value_or("");
  };
  Before before{certificates_in(text(kCaFile)), {}, {text(kCertificateFile), text(kKeyFile)}};
  if (const auto changed = parse_rfc3339(kube::annotation_of(secret, kTrustChangedAnnotation)))
    before.changed_at = *changed;
  const bool is_usable =
      !before.trusted.empty() &&
      net::check_usable({.ca = before.trusted.front(), .certificate = before.own.certificate, .key = before.own.key})
          .has_value();
  return is_usable ? std::optional(std::move(before)) : std::nullopt;
}

net::Identity own_identity(const net::CertificateAuthority& authority, Time now) {
  return authority.issue(operator_uri(), period_from(now, kCertificateValidity));
}

// When the certificate was made; Time(): it has expired, or cannot be read.
Time made_at(const net::Identity& identity, Time now) {
  const auto expiry = net::expiry_of(identity.certificate);
  return expiry && *expiry > now ? Time(*expiry - kCertificateValidity) : Time();
}

// Returns what follows from the present CA and what was known before.
Authorities next_authorities(FoundAuthority found, const std::optional<Before>& before, Time given_now) {
  const Time now = std::chrono::floor<std::chrono::seconds>(given_now);
  Authorities next{.current = std::move(found.authority)};
  if (!before) {
    next.own = own_identity(next.current, now);
    return next;
  }
  next.previous = before->trusted;
  const std::size_t others = std::erase(next.previous, next.current.identity().certificate);
  const bool is_replaced = others == 0 || before->trusted.front() != next.current.identity().certificate;
  next.changed_at = is_replaced ? now : before->changed_at;
  const bool has_expired = now - next.changed_at >= kCertificateValidity || now < next.changed_at;
  if (!next.previous.empty() && (found.distrusts_previous || has_expired)) {
    next.previous.clear();
    next.changed_at = now;
  }
  const Time made = made_at(before->own, now);
  const bool is_of_older_ca = made < next.changed_at;
  const bool is_old = now - made > kCertificateRenewal || now < made;
  const bool is_kept = made != Time() && (next.keeps_certificates(now) || !(is_of_older_ca || is_old));
  next.own = is_kept ? before->own : own_identity(next.current, now);
  return next;
}

Json identity_of(const Authorities& authorities, const JobKey& name) {
  Json secret = secret_of(name, authorities.own);
  secret["data"][kCaFile] = net::encode_base64(authorities.trusted());
  if (authorities.changed_at != Time())
    secret["metadata"]["annotations"][kTrustChangedAnnotation] = to_rfc3339(authorities.changed_at);
  return secret;
}

kube::ApiResult<Json> write_identity(kube::Api& api, Json secret, const kube::ApiResult<Json>& held) {
  if (!held) return api.create(kube::kSecrets, secret);
  secret["metadata"]["resourceVersion"] = kube::version_of(*held);  // another replica may be faster
  return api.replace(kube::kSecrets, secret);
}

}  // namespace

JobKey identity_secret(const JobKey& ca_secret) { return {ca_secret.namespace_name, ca_secret.name + "-identity"}; }

std::string Authorities::trusted() const {
  std::string all = current.identity().certificate;
  for (const std::string& certificate : previous) all += certificate;
  return all;
}

bool Authorities::keeps_certificates(Time now) const { return !previous.empty() && now - changed_at < kTrustOverlap; }

kube::ApiResult<Authorities> find_authorities(kube::Api& api, const JobKey& ca_secret, const Authorities* known,
                                              Time now) {
  const JobKey name = identity_secret(ca_secret);
  const auto held = api.get(kube::kSecrets, name);
  if (!held && !held.error().is_not_found()) return tl::unexpected(held.error());
  auto found = find_authority(api, ca_secret, now);
  if (!found) return tl::unexpected(found.error());
  std::optional<Before> before = held ? before_of(*held) : std::nullopt;
  if (!before && known != nullptr) before = Before{certificates_in(known->trusted()), known->changed_at, known->own};
  Authorities next = next_authorities(*std::move(found), before, now);
  Json secret = identity_of(next, name);
  const bool is_written = held && held->value("data", Json()) == secret["data"];
  if (is_written) return next;
  if (const auto written = write_identity(api, std::move(secret), held); !written)
    return tl::unexpected(written.error());
  return next;
}

CredentialIssuer::CredentialIssuer(Authorities authorities, Clock clock) : clock_(std::move(clock)) {
  replace(std::move(authorities));
}

bool CredentialIssuer::replace(Authorities authorities) {
  net::TlsSettings own{
      .ca = authorities.trusted(), .certificate = authorities.own.certificate, .key = authorities.own.key};
  const std::scoped_lock lock(mutex_);
  const bool has_changed = authorities_ == nullptr || authorities_->changed_at != authorities.changed_at;
  if (own_ == nullptr || own_->ca != own.ca || own_->certificate != own.certificate)
    own_ = std::make_shared<const net::TlsSettings>(std::move(own));
  authorities_ = std::make_shared<const Authorities>(std::move(authorities));
  return has_changed;
}

Authorities CredentialIssuer::authorities() const {
  const std::scoped_lock lock(mutex_);
  return *authorities_;
}

std::shared_ptr<const net::TlsSettings> CredentialIssuer::own() const {
  const std::scoped_lock lock(mutex_);
  return own_;
}

net::TlsSettings CredentialIssuer::issue(const JobKey& job) const {
  const Authorities authorities = this->authorities();
  net::Identity identity = authorities.current.issue(job_uri(job), period_from(clock_(), kCertificateValidity));
  return {.ca = authorities.trusted(), .certificate = std::move(identity.certificate), .key = std::move(identity.key)};
}

std::optional<TrustChange> CredentialIssuer::trust_change() const {
  const Authorities authorities = this->authorities();
  if (authorities.changed_at == Time()) return std::nullopt;
  return TrustChange{authorities.changed_at, authorities.keeps_certificates(clock_())};
}

}  // namespace sailor
