// Applies TlsSettings to a context of OpenSSL. Included in core/net only.
#pragma once

#include <openssl/ssl.h>

#include "core/net/tls_settings.h"

namespace sailor::net {

// Trusts the CA alone and shows the client's certificate if there is one. Throws std::runtime_error with a sentence if
// the PEM texts cannot be used.
void apply_tls_settings(SSL_CTX* context, const TlsSettings& settings);

}  // namespace sailor::net
