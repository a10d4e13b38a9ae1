// Owners of OpenSSL's objects, and their PEM texts. Included in core/net only.
#pragma once

#include <memory>
#include <string>

#include <openssl/pem.h>
#include <openssl/x509v3.h>

namespace sailor::net {

struct FreeOpenSslObject {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
};
using Bio = std::unique_ptr<BIO, FreeOpenSslObject>;
using Certificate = std::unique_ptr<X509, FreeOpenSslObject>;
using PrivateKey = std::unique_ptr<EVP_PKEY, FreeOpenSslObject>;

inline Bio bio_of(const std::string& pem) { return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))); }

// Null: the text is not PEM of such an object.
inline Certificate read_certificate(const std::string& pem) {
  return Certificate(PEM_read_bio_X509(bio_of(pem).get(), nullptr, nullptr, nullptr));
}
inline PrivateKey read_key(const std::string& pem) {
  return PrivateKey(PEM_read_bio_PrivateKey(bio_of(pem).get(), nullptr, nullptr, nullptr));
}

// Returns the first URI in the subjectAltName of the certificate; empty: there is none.
std::string uri_in(const X509* certificate);

}  // namespace sailor::net
