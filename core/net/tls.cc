#include "core/net/tls.h"

#include <memory>
#include <stdexcept>

#include "core/net/openssl_objects.h"

namespace sailor::net {
namespace {

// A new store, because the one that the library made contains all CAs of the system.
void trust_only(SSL_CTX* context, const std::string& ca) {
  X509_STORE* store = X509_STORE_new();
  const Bio bio = bio_of(ca);
  int count = 0;
  while (const Certificate certificate{PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)}) {
    X509_STORE_add_cert(store, certificate.get());
    ++count;
  }
  SSL_CTX_set_cert_store(context, store);  // the context owns the store now
  if (count == 0) throw std::runtime_error("the CA to trust holds no certificate; give it as PEM");
}

void show_certificate(SSL_CTX* context, const std::string& certificate_text, const std::string& key_text) {
  const Certificate certificate = read_certificate(certificate_text);
  const PrivateKey key = read_key(key_text);
  if (!certificate || !key || SSL_CTX_use_certificate(context, certificate.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    throw std::runtime_error("the certificate or its key cannot be used; check that they are PEM and belong together");
  }
}

void apply(SSL_CTX* context, const TlsSettings& settings) {
  trust_only(context, settings.ca);
  if (!settings.certificate.empty()) show_certificate(context, settings.certificate, settings.key);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);  // many connections wait most of the time
}

// NOLINTNEXTLINE(readability-function-size): OpenSSL calls it with these parameters
void free_text(void* /*context*/, void* text, CRYPTO_EX_DATA* /*data*/, int /*index*/, long /*number*/,
               void* /*argument*/) {
  delete static_cast<std::string*>(text);
}

// Where a context keeps the URI of the server that its connections accept.
int server_uri_index() {
  static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, free_text);
  return index;
}

// Takes the place of OpenSSL's check of a chain, and of the check of the host's name that cpprestsdk adds to it.
int check_server(X509_STORE_CTX* chain, void* /*argument*/) {
  const auto* connection =
      static_cast<const SSL*>(X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
  const auto* uri =
      static_cast<const std::string*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(connection), server_uri_index()));
  X509_STORE_CTX_set_verify_cb(chain, [](int is_good, X509_STORE_CTX*) { return is_good; });
  if (X509_verify_cert(chain) != 1) return 0;
  if (uri_in(X509_STORE_CTX_get0_cert(chain)) == *uri) return 1;
  X509_STORE_CTX_set_error(chain, X509_V_ERR_APPLICATION_VERIFICATION);
  return 0;
}

}  // namespace

std::string uri_in(const X509* certificate) {
  const std::unique_ptr<GENERAL_NAMES, FreeOpenSslObject> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_URI) continue;
    const ASN1_IA5STRING* uri = name->d.uniformResourceIdentifier;
    return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(uri)),
            static_cast<std::size_t>(ASN1_STRING_length(uri))};
  }
  return "";
}

void apply_to_client(SSL_CTX* context, const TlsSettings& settings) {
  apply(context, settings);
  if (settings.server_uri.empty()) return;
  SSL_CTX_set_ex_data(context, server_uri_index(), std::make_unique<std::string>(settings.server_uri).release());
  SSL_CTX_set_cert_verify_callback(context, check_server, nullptr);
}

void apply_to_server(SSL_CTX* context, const TlsSettings& settings) {
  apply(context, settings);
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  // A client connects once and keeps the connection, so a session is not resumed.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 0);
}

std::string peer_uri(const SSL* connection) {
  const Certificate certificate(SSL_get1_peer_certificate(connection));
  return certificate ? uri_in(certificate.get()) : "";
}

}  // namespace sailor::net
