// Applies TlsSettings to a context of OpenSSL. Included in core/net only.
#pragma once

#include <memory>
#include <string>

#include <openssl/ssl.h>

#include "core/net/tls_settings.h"

namespace sailor::net {

// Both functions trust the CA alone and show the certificate if there is one. They throw std::runtime_error with a
// sentence if the PEM texts cannot be used.
void apply_to_client(SSL_CTX* context, const TlsSettings& settings);  // but for the server's URI
// The server takes clients without a certificate too, and refuses those whose certificate the CA has not signed.
void apply_to_server(SSL_CTX* context, const TlsSettings& settings);

// Returns the context of clients with these settings. All that exist at the same time share it, because it takes 25 KB.
std::shared_ptr<SSL_CTX> client_context(const TlsSettings& settings);

// The certificate of the server must contain this URI, whichever host it names. The text must outlive the handshake.
void expect_server_uri(SSL* connection, const std::string& uri);

// Returns the URI in the certificate that the other side has shown; empty: it has shown none, or one without a URI.
std::string peer_uri(const SSL* connection);

}  // namespace sailor::net
