// The client over TLS: it trusts the given CA alone, and shows its certificate to a server that asks for one.
#include <memory>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "core/net/http_client.h"
#include "tests/core/net/tcp_peer.h"

namespace sailor::net {
namespace {

using ::testing::HasSubstr;

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* connection) const { SSL_free(connection); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

// A certificate for 127.0.0.1 that signs itself, and so is its own CA.
struct Identity {
  Owned<EVP_PKEY> key{EVP_EC_gen("P-256")};
  Owned<X509> certificate{X509_new()};

  explicit Identity(const std::string& name) {
    X509* x509 = certificate.get();
    X509_set_version(x509, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
    X509_gmtime_adj(X509_getm_notBefore(x509), -60);
    X509_gmtime_adj(X509_getm_notAfter(x509), 3600);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x509), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    X509_set_issuer_name(x509, X509_get_subject_name(x509));
    X509_set_pubkey(x509, key.get());
    for (const auto& [kind, value] :
         {std::pair{NID_basic_constraints, "critical,CA:TRUE"}, std::pair{NID_subject_alt_name, "IP:127.0.0.1"}}) {
      X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value);
      X509_add_ext(x509, extension, -1);
      X509_EXTENSION_free(extension);
    }
    X509_sign(x509, key.get(), EVP_sha256());
  }

  template <class Write>
  static std::string text_of(Write write) {
    const Owned<BIO> bio(BIO_new(BIO_s_mem()));
    write(bio.get());
    char* text = nullptr;
    const long size = BIO_get_mem_data(bio.get(), &text);
    return {text, static_cast<std::size_t>(size)};
  }
  [[nodiscard]] std::string certificate_text() const {
    return text_of([&](BIO* bio) { PEM_write_bio_X509(bio, certificate.get()); });
  }
  [[nodiscard]] std::string key_text() const {
    return text_of([&](BIO* bio) { PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr); });
  }
};

// Takes one connection; answers "hello NAME" to a client whose certificate it knows, and "hello" to one without.
class TlsServer {
 public:
  TlsServer(const Identity& own, const Identity* client) : context_(SSL_CTX_new(TLS_server_method())) {
    SSL_CTX_use_certificate(context_.get(), own.certificate.get());
    SSL_CTX_use_PrivateKey(context_.get(), own.key.get());
    if (client != nullptr) {
      SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
      X509_STORE_add_cert(SSL_CTX_get_cert_store(context_.get()), client->certificate.get());
    }
    thread_ = std::jthread([this] { serve(); });
  }
  [[nodiscard]] std::string url() const { return fmt::format("https://127.0.0.1:{}", listener_.port()); }

 private:
  void serve() {
    const testing::Socket socket = listener_.accept();
    const Owned<SSL> connection(SSL_new(context_.get()));
    SSL_set_fd(connection.get(), socket.fd());
    if (SSL_accept(connection.get()) != 1) return;
    char request[4096];
    if (SSL_read(connection.get(), request, sizeof request) <= 0) return;
    std::string body = "hello";
    if (const Owned<X509> peer{SSL_get1_peer_certificate(connection.get())}; peer) {
      char name[100] = "";
      X509_NAME_get_text_by_NID(X509_get_subject_name(peer.get()), NID_commonName, name, sizeof name);
      body += fmt::format(" {}", name);
    }
    const std::string answer = fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", body.size(), body);
    SSL_write(connection.get(), answer.data(), static_cast<int>(answer.size()));
    SSL_shutdown(connection.get());
  }

  testing::TcpListener listener_;
  Owned<SSL_CTX> context_;
  std::jthread thread_;
};

Result<HttpResponse> ask(const TlsServer& server, const TlsSettings& tls) {
  return HttpClient(server.url(), {.tls = tls}).send({});
}

TEST(Tls, AServerOfTheGivenCaIsTrusted) {
  const Identity identity("server");
  const TlsServer server(identity, nullptr);
  const auto response = ask(server, {.ca = identity.certificate_text()});
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, "hello");
}

TEST(Tls, AServerOfAnotherCaIsRefusedWithWhatToCheck) {
  const Identity identity("server"), other("other");
  const TlsServer server(identity, nullptr);
  const auto response = ask(server, {.ca = other.certificate_text()});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, ErrorCode::kForbidden);
  EXPECT_THAT(response.error().message, HasSubstr("GET " + server.url() + "/: the TLS handshake failed"));
  EXPECT_THAT(response.error().message, HasSubstr("check that the given CA signed the server's certificate"));
}

TEST(Tls, TheClientShowsItsCertificate) {
  const Identity identity("server"), user("alice");
  const TlsServer server(identity, &user);
  const auto response =
      ask(server, {.ca = identity.certificate_text(), .certificate = user.certificate_text(), .key = user.key_text()});
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, "hello alice");
}

TEST(Tls, ATextWithoutACaIsAnErrorThatNamesIt) {
  const Identity identity("server");
  const auto response = HttpClient("https://127.0.0.1:1", {.tls = TlsSettings{.ca = "nonsense"}}).send({});
  ASSERT_FALSE(response);
  EXPECT_THAT(response.error().message, HasSubstr("the CA to trust holds no certificate"));
}

}  // namespace
}  // namespace sailor::net
