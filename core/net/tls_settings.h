// TlsSettings: whom a client trusts, and how it identifies itself.
#pragma once

#include <string>

namespace sailor::net {

// Certificates as PEM texts. Only the given CA is trusted, not those of the system.
struct TlsSettings {
  std::string ca;
  std::string client_certificate = {};  // shown to the server; empty: none
  std::string client_key = {};
};

}  // namespace sailor::net
