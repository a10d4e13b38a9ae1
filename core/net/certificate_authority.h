// CertificateAuthority: signs certificates that identify programs by a URI.
#pragma once

#include <chrono>
#include <string>

#include "core/model/error.h"
#include "core/net/tls_settings.h"

namespace sailor::net {

// A certificate and its private key, as PEM texts.
struct Identity {
  std::string certificate;
  std::string key;
  friend bool operator==(const Identity&, const Identity&) = default;
};

struct ValidityPeriod {
  std::chrono::sys_seconds from;
  std::chrono::sys_seconds until;
};

class CertificateAuthority {
 public:
  // Makes a new key and signs its certificate with it. `name` is for people who read the certificate.
  static CertificateAuthority create(const std::string& name, const ValidityPeriod& period);
  // kInvalidArgument: the texts are not PEM, do not belong together, or are not those of a CA.
  static Result<CertificateAuthority> from(const Identity& identity);

  // Makes a new key, and a certificate with this URI (subjectAltName) with which a program may be server and client.
  [[nodiscard]] Identity issue(const std::string& uri, const ValidityPeriod& period) const;
  [[nodiscard]] const Identity& identity() const { return identity_; }

 private:
  explicit CertificateAuthority(Identity identity) : identity_(std::move(identity)) {}
  Identity identity_;
};

// kInvalidArgument, with what is wrong: these PEM texts cannot be used for TLS.
Result<void> check_usable(const TlsSettings& settings);

// Returns the URI in the certificate; empty: there is none, or the text is no certificate.
std::string uri_of(const std::string& certificate);

// Returns when the certificate expires. kInvalidArgument: the text is no certificate.
Result<std::chrono::sys_seconds> expiry_of(const std::string& certificate);

}  // namespace sailor::net
