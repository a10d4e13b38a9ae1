#include "core/net/tls.h"

#include <memory>
#include <stdexcept>
#include <string>

#include <openssl/pem.h>
#include <openssl/x509.h>

namespace sailor::net {
namespace {

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using Bio = std::unique_ptr<BIO, Free>;
using Certificate = std::unique_ptr<X509, Free>;
using Key = std::unique_ptr<EVP_PKEY, Free>;

Bio bio_of(const std::string& pem) { return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))); }

// A new store, because the one that the library made contains all CAs of the system.
void trust_only(SSL_CTX* context, const std::string& ca) {
  X509_STORE* store = X509_STORE_new();
  const Bio bio = bio_of(ca);
  int count = 0;
  while (Certificate certificate{PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)}) {
    X509_STORE_add_cert(store, certificate.get());
    ++count;
  }
  SSL_CTX_set_cert_store(context, store);  // the context owns the store now
  if (count == 0) throw std::runtime_error("the CA to trust holds no certificate; give it as PEM");
}

void show_certificate(SSL_CTX* context, const std::string& certificate_text, const std::string& key_text) {
  const Bio cert_bio = bio_of(certificate_text);
  const Bio key_bio = bio_of(key_text);
  const Certificate certificate(PEM_read_bio_X509(cert_bio.get(), nullptr, nullptr, nullptr));
  const Key key(PEM_read_bio_PrivateKey(key_bio.get(), nullptr, nullptr, nullptr));
  if (!certificate || !key || SSL_CTX_use_certificate(context, certificate.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    throw std::runtime_error(
        "the client certificate or its key cannot be used; check that they are PEM and belong together");
  }
}

}  // namespace

void apply_tls_settings(SSL_CTX* context, const TlsSettings& settings) {
  trust_only(context, settings.ca);
  if (!settings.client_certificate.empty()) show_certificate(context, settings.client_certificate, settings.client_key);
}

}  // namespace sailor::net
