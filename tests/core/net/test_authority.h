// A CA for tests, and what it signs.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "core/net/certificate_authority.h"

namespace sailor::net::testing {

inline ValidityPeriod around_now(std::chrono::hours before = std::chrono::hours(1),
                                 std::chrono::hours after = std::chrono::hours(1)) {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return {now - before, now + after};
}

struct TestAuthority {
  // Who has this URI, and trusts the CA. As a client it expects a server with `server_uri`.
  [[nodiscard]] TlsSettings settings(const std::string& uri, const std::string& server_uri = {},
                                     const ValidityPeriod& period = around_now()) const {
    const Identity identity = authority.issue(uri, period);
    return {authority.identity().certificate, identity.certificate, identity.key, server_uri};
  }
  [[nodiscard]] std::shared_ptr<const TlsSettings> shared(const std::string& uri) const {
    return std::make_shared<const TlsSettings>(settings(uri));
  }

  CertificateAuthority authority = CertificateAuthority::create("tests", around_now());
};

}  // namespace sailor::net::testing
