// TlsSettings: whom one side of a connection trusts, and how it identifies itself.
#pragma once

#include <string>

namespace sailor::net {

// Certificates as PEM texts. Only the given CA is trusted, not those of the system.
struct TlsSettings {
  std::string ca;
  std::string certificate = {};  // shown to the other side; empty: none
  std::string key = {};          // of that certificate
  // The URI that the certificate of the server must contain (subjectAltName). Empty: the certificate must name the host
  // of the URL. A server ignores it.
  std::string server_uri = {};
};

}  // namespace sailor::net
