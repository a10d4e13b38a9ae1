#include "core/net/tls.h"

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>

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

// Where a connection keeps the URI of the server that it accepts.
int server_uri_index() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

// Takes the place of OpenSSL's check of a chain.
int check_server(X509_STORE_CTX* chain, void* /*argument*/) {
  const auto* connection =
      static_cast<const SSL*>(X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
  if (X509_verify_cert(chain) != 1) return 0;
  const auto* uri = static_cast<const std::string*>(SSL_get_ex_data(connection, server_uri_index()));
  if (uri == nullptr || uri_in(X509_STORE_CTX_get0_cert(chain)) == *uri) return 1;
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
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_cert_verify_callback(context, check_server, nullptr);
}

std::shared_ptr<SSL_CTX> client_context(const TlsSettings& settings) {
  using Texts = std::array<std::string, 3>;
  static std::mutex mutex;
  // Never destroyed: the threads of the pool may still open connections while the program ends (thread_pool.cc).
  static auto& contexts = *new std::map<Texts, std::weak_ptr<SSL_CTX>>;
  const std::scoped_lock lock(mutex);
  std::erase_if(contexts, [](const auto& entry) { return entry.second.expired(); });
  Texts texts{settings.ca, settings.certificate, settings.key};
  if (const auto found = contexts.find(texts); found != contexts.end()) {
    if (auto context = found->second.lock()) return context;
  }
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  apply_to_client(context.get(), settings);
  contexts[std::move(texts)] = context;
  return context;
}

void expect_server_uri(SSL* connection, const std::string& uri) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): OpenSSL keeps pointers to anything, and only check_server
  // reads it
  SSL_set_ex_data(connection, server_uri_index(), const_cast<std::string*>(&uri));
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
