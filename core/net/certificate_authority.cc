#include "core/net/certificate_authority.h"

#include <ctime>
#include <stdexcept>
#include <utility>

#include <openssl/err.h>
#include <openssl/rand.h>

#include "core/net/openssl_objects.h"
#include "core/net/tls.h"

namespace sailor::net {
namespace {

constexpr int kSerialBits = 127;  // a positive number of at most 20 bytes (RFC 5280, 4.1.2.2)

// What fails here, fails for lack of memory or of randomness, or by a mistake in this file.
void require(bool is_done, const char* what) {
  if (is_done) return;
  char reason[256] = "";
  ERR_error_string_n(ERR_get_error(), reason, sizeof reason);
  throw std::runtime_error(std::string("making a certificate: ") + what + ": " + reason);
}

template <class Write>
std::string pem_of(Write write) {
  const Bio bio(BIO_new(BIO_s_mem()));
  require(write(bio.get()) == 1, "writing PEM");
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

void set_serial_number(X509* certificate) {
  const std::unique_ptr<BIGNUM, decltype(&BN_free)> number(BN_new(), BN_free);
  require(BN_rand(number.get(), kSerialBits, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1, "choosing a serial number");
  require(BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr, "setting the serial number");
}

void set_period(X509* certificate, const ValidityPeriod& period) {
  const auto set = [](ASN1_TIME* field, std::chrono::sys_seconds time) {
    require(ASN1_TIME_set(field, std::chrono::system_clock::to_time_t(time)) != nullptr, "setting a time");
  };
  set(X509_getm_notBefore(certificate), period.from);
  set(X509_getm_notAfter(certificate), period.until);
}

void add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, FreeOpenSslObject> extension(
      X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  require(extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1, "adding an extension");
}

struct Unsigned {
  Certificate certificate{X509_new()};
  PrivateKey key{EVP_EC_gen("P-256")};
};

Unsigned make_unsigned(const ValidityPeriod& period) {
  Unsigned made;
  require(made.certificate && made.key, "making a key");
  X509_set_version(made.certificate.get(), X509_VERSION_3);
  set_serial_number(made.certificate.get());
  set_period(made.certificate.get(), period);
  require(X509_set_pubkey(made.certificate.get(), made.key.get()) == 1, "setting the public key");
  return made;
}

Identity sign(const Unsigned& made, EVP_PKEY* signing_key) {
  require(X509_sign(made.certificate.get(), signing_key, EVP_sha256()) > 0, "signing");
  return {pem_of([&](BIO* bio) { return PEM_write_bio_X509(bio, made.certificate.get()); }), pem_of([&](BIO* bio) {
            return PEM_write_bio_PrivateKey(bio, made.key.get(), nullptr, nullptr, 0, nullptr, nullptr);
          })};
}

}  // namespace

CertificateAuthority CertificateAuthority::create(const std::string& name, const ValidityPeriod& period) {
  const Unsigned made = make_unsigned(period);
  X509* certificate = made.certificate.get();
  X509_NAME* subject = X509_get_subject_name(certificate);
  const auto* text = reinterpret_cast<const unsigned char*>(name.c_str());
  require(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, text, -1, -1, 0) == 1, "setting the name");
  require(X509_set_issuer_name(certificate, subject) == 1, "setting the issuer");
  add_extension(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
  add_extension(certificate, certificate, NID_key_usage, "critical,keyCertSign");
  add_extension(certificate, certificate, NID_subject_key_identifier, "hash");
  return CertificateAuthority(sign(made, made.key.get()));
}

Result<CertificateAuthority> CertificateAuthority::from(const Identity& identity) {
  const Certificate certificate = read_certificate(identity.certificate);
  const PrivateKey key = read_key(identity.key);
  if (!certificate || !key) return fail(ErrorCode::kInvalidArgument, "the CA's certificate or its key is not PEM");
  if (X509_check_private_key(certificate.get(), key.get()) != 1)
    return fail(ErrorCode::kInvalidArgument, "the CA's key does not belong to its certificate");
  if (X509_check_ca(certificate.get()) != 1)
    return fail(ErrorCode::kInvalidArgument, "the certificate is not that of a CA");
  return CertificateAuthority(identity);
}

Identity CertificateAuthority::issue(const std::string& uri, const ValidityPeriod& period) const {
  const Certificate issuer = read_certificate(identity_.certificate);
  const PrivateKey issuer_key = read_key(identity_.key);
  require(issuer && issuer_key, "reading the CA");
  const Unsigned made = make_unsigned(period);
  X509* certificate = made.certificate.get();
  require(X509_set_issuer_name(certificate, X509_get_subject_name(issuer.get())) == 1, "setting the issuer");
  add_extension(certificate, issuer.get(), NID_basic_constraints, "critical,CA:FALSE");
  add_extension(certificate, issuer.get(), NID_key_usage, "critical,digitalSignature");
  add_extension(certificate, issuer.get(), NID_ext_key_usage, "serverAuth,clientAuth");
  add_extension(certificate, issuer.get(), NID_authority_key_identifier, "keyid");
  add_extension(certificate, issuer.get(), NID_subject_alt_name, "critical,URI:" + uri);  // the subject is empty
  return sign(made, issuer_key.get());
}

Result<void> check_usable(const TlsSettings& settings) {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_method()), SSL_CTX_free);
  try {
    apply_to_client(context.get(), settings);
  } catch (const std::runtime_error& error) {
    return fail(ErrorCode::kInvalidArgument, error.what());
  }
  return {};
}

std::string uri_of(const std::string& certificate) {
  const Certificate read = read_certificate(certificate);
  return read ? uri_in(read.get()) : "";
}

Result<std::chrono::sys_seconds> expiry_of(const std::string& certificate) {
  const Certificate read = read_certificate(certificate);
  std::tm time{};
  if (!read || ASN1_TIME_to_tm(X509_get0_notAfter(read.get()), &time) != 1)
    return fail(ErrorCode::kInvalidArgument, "the text is not a certificate as PEM");
  return std::chrono::sys_seconds(std::chrono::seconds(timegm(&time)));
}

}  // namespace sailor::net
