#include "operator/kube/tls.h"

#include <memory>

#include <openssl/pem.h>
#include <openssl/x509.h>

#include "operator/kube/transport.h"

namespace sailor::kube {
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

// A fresh store: the library's own has all the CAs of the system in it.
void trust_only(SSL_CTX* context, const std::string& ca_pem) {
  X509_STORE* store = X509_STORE_new();
  const Bio bio = bio_of(ca_pem);
  int count = 0;
  while (Certificate certificate{PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)}) {
    X509_STORE_add_cert(store, certificate.get());
    ++count;
  }
  SSL_CTX_set_cert_store(context, store);  // takes the store over
  if (count == 0) throw TransportError("the cluster's CA holds no certificate; check ca.crt or the kubeconfig");
}

void show_certificate(SSL_CTX* context, const std::string& cert_pem, const std::string& key_pem) {
  const Bio cert_bio = bio_of(cert_pem);
  const Bio key_bio = bio_of(key_pem);
  const Certificate certificate(PEM_read_bio_X509(cert_bio.get(), nullptr, nullptr, nullptr));
  const Key key(PEM_read_bio_PrivateKey(key_bio.get(), nullptr, nullptr, nullptr));
  if (!certificate || !key || SSL_CTX_use_certificate(context, certificate.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    throw TransportError("the client certificate or its key cannot be used; check the kubeconfig's user");
  }
}

}  // namespace

void use_identity(SSL_CTX* context, const ClusterConfig& config) {
  trust_only(context, config.ca_pem);
  if (!config.client_cert_pem.empty()) show_certificate(context, config.client_cert_pem, config.client_key_pem);
}

}  // namespace sailor::kube
