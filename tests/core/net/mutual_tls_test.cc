// Server and client over TLS, with certificates that name programs instead of hosts.
#include <array>
#include <memory>
#include <stdexcept>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/net/http_client.h"
#include "core/net/http_server.h"
#include "core/net/tls.h"
#include "tests/core/net/tcp_peer.h"
#include "tests/core/net/test_authority.h"
#include "tests/support/shared_value.h"

namespace sailor::net {
namespace {

using testing::around_now;
using ::testing::HasSubstr;
using testing::TestAuthority;

constexpr const char* kServer = "spiffe://test/server";
constexpr const char* kFriend = "spiffe://test/friend";
constexpr const char* kStranger = "spiffe://test/stranger";

// Says to each client who it is, and a secret to the friend alone.
struct TlsServed {
  explicit TlsServed(std::shared_ptr<const TlsSettings> identity) : tls(std::move(identity)) {}

  [[nodiscard]] Result<HttpResponse> ask(const TlsSettings& client, const std::string& target = "/who") const {
    return HttpClient(https_url("127.0.0.1", port), {.tls = client}).send({.target = target});
  }

  SharedValue<std::shared_ptr<const TlsSettings>> tls;
  const int port = testing::free_port();
  const std::unique_ptr<HttpServer> server =
      HttpServer::listen(fmt::format("127.0.0.1:{}", port),
                         {{"GET", "/who", [](const HttpCall& call) { return HttpAnswer{.body = call.client_uri}; }},
                          {"GET", "/secret", [](const HttpCall&) { return HttpAnswer{.body = "secret"}; }, kFriend},
                          {"PUT", "/echo", [](const HttpCall& call) { return HttpAnswer{.body = call.body}; }}},
                         {.tls = [this] { return tls.load(); }})
          .value();
};

// One connection. An HttpClient may open another one for a request that directly follows an answer.
class TlsConnection {
 public:
  TlsConnection(int port, const TlsSettings& settings) : socket_(testing::connect_to(port)) {
    const std::unique_ptr<SSL_CTX, Free> context(SSL_CTX_new(TLS_client_method()));
    apply_to_client(context.get(), settings);
    tls_.reset(SSL_new(context.get()));
    SSL_set_fd(tls_.get(), socket_.fd());
    if (SSL_connect(tls_.get()) != 1) throw std::runtime_error("the TLS handshake of the test failed");
  }

  // Returns whether the server answers with the URI of this client. Waits until it does, or closes the connection.
  [[nodiscard]] bool is_served_as(std::string_view uri) {
    constexpr std::string_view request = "GET /who HTTP/1.1\r\n\r\n";
    if (SSL_write(tls_.get(), request.data(), static_cast<int>(request.size())) <= 0) return false;
    std::string answer;
    std::array<char, 4096> bytes{};
    while (!answer.ends_with(uri)) {
      const int count = SSL_read(tls_.get(), bytes.data(), static_cast<int>(bytes.size()));
      if (count <= 0) return false;
      answer.append(bytes.data(), static_cast<std::size_t>(count));
    }
    return answer.starts_with("HTTP/1.1 200");
  }

 private:
  struct Free {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    void operator()(SSL* tls) const { SSL_free(tls); }
  };

  testing::Socket socket_;
  std::unique_ptr<SSL, Free> tls_;
};

class MutualTls : public ::testing::Test {
 protected:
  TestAuthority ours, others;
  TlsServed served{ours.shared(kServer)};
};

TEST_F(MutualTls, TheServerLearnsTheUriOfItsClient) {
  const auto answer = served.ask(ours.settings(kFriend, kServer));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, kFriend);
}

TEST_F(MutualTls, ARouteForOneClientRefusesAllOthers) {
  EXPECT_EQ(served.ask(ours.settings(kFriend, kServer), "/secret")->body, "secret");
  const auto stranger = served.ask(ours.settings(kStranger, kServer), "/secret");
  EXPECT_EQ(stranger->status, 403);
  EXPECT_THAT(stranger->body, HasSubstr("this is for spiffe://test/friend only, not for spiffe://test/stranger"));
  const auto nobody = served.ask({.ca = ours.authority.identity().certificate, .server_uri = kServer}, "/secret");
  EXPECT_EQ(nobody->status, 403);
  EXPECT_THAT(nobody->body, HasSubstr("not for a client without a certificate"));
}

TEST_F(MutualTls, AClientWithoutACertificateIsServedWhatIsForEverybody) {
  const auto answer = served.ask({.ca = ours.authority.identity().certificate, .server_uri = kServer});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "");
}

TEST_F(MutualTls, AClientOfAnotherCaIsRefused) {
  TlsSettings client = others.settings(kFriend, kServer);
  client.ca = ours.authority.identity().certificate;
  EXPECT_FALSE(served.ask(client));
}

TEST_F(MutualTls, AServerOfAnotherCaIsRefused) {
  const auto answer = served.ask(others.settings(kFriend, kServer));
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, HasSubstr("the TLS handshake failed"));
}

TEST_F(MutualTls, AServerWithAnotherUriIsRefused) { EXPECT_FALSE(served.ask(ours.settings(kFriend, kStranger))); }

TEST_F(MutualTls, AServerThatIsNamedByItsUriIsNotTakenForItsHost) {
  EXPECT_FALSE(served.ask(ours.settings(kFriend))) << "its certificate names no host";
}

TEST_F(MutualTls, ExpiredCertificatesAreRefusedOnBothSides) {
  const auto past = around_now(std::chrono::hours(2), std::chrono::hours(-1));
  EXPECT_FALSE(served.ask(ours.settings(kFriend, kServer, past)));
  served.tls = std::make_shared<const TlsSettings>(ours.settings(kServer, {}, past));
  EXPECT_FALSE(served.ask(ours.settings(kFriend, kServer)));
}

TEST_F(MutualTls, NewConnectionsUseChangedSettingsAndOldOnesGoOn) {
  TlsConnection old(served.port, ours.settings(kFriend, kServer));
  ASSERT_TRUE(old.is_served_as(kFriend));
  served.tls = others.shared(kServer);
  EXPECT_TRUE(old.is_served_as(kFriend));
  EXPECT_TRUE(served.ask(others.settings(kFriend, kServer)));
  EXPECT_FALSE(served.ask(ours.settings(kFriend, kServer)));
}

TEST_F(MutualTls, SettingsThatCannotBeUsedLeaveThoseBefore) {
  served.tls = std::make_shared<const TlsSettings>(TlsSettings{.ca = "nonsense"});
  EXPECT_TRUE(served.ask(ours.settings(kFriend, kServer)));
}

TEST_F(MutualTls, AServerWithoutUsableSettingsDoesNotStart) {
  const auto server =
      HttpServer::listen(fmt::format("127.0.0.1:{}", testing::free_port()), {},
                         {.tls = [] { return std::make_shared<const TlsSettings>(TlsSettings{.ca = "nonsense"}); }});
  ASSERT_FALSE(server);
  EXPECT_THAT(server.error().message, HasSubstr("the CA to trust holds no certificate"));
}

TEST(HttpServer, RefusesARequestBeforeItsBodyHasArrived) {
  const int port = testing::free_port();
  const auto server = HttpServer::listen(fmt::format("127.0.0.1:{}", port),
                                         {{"PUT", "/secret", [](const HttpCall&) { return HttpAnswer{}; }, kFriend}});
  const testing::Socket client = testing::connect_to(port);
  EXPECT_TRUE(client.send("PUT /secret HTTP/1.1\r\nContent-Length: 10000\r\n\r\n"));
  EXPECT_THAT(client.receive(), HasSubstr("403 Forbidden"));
}

TEST_F(MutualTls, AClientThatSpeaksNoTlsIsDroppedAndOthersAreServed) {
  const testing::Socket plain = testing::connect_to(served.port);
  EXPECT_TRUE(plain.send("GET /who HTTP/1.1\r\n\r\n"));
  while (!plain.receive().empty()) {
  }
  EXPECT_TRUE(served.ask(ours.settings(kFriend, kServer)));
}

TEST_F(MutualTls, AClientThatSaysNothingDoesNotKeepTheServerFromStopping) {
  TlsServed stopped(ours.shared(kServer));
  const testing::Socket silent = testing::connect_to(stopped.port);
  EXPECT_TRUE(stopped.ask(ours.settings(kFriend, kServer)));
}

TEST_F(MutualTls, ABodyThatIsTooLargeIsAnswered) {
  const HttpClient client(https_url("127.0.0.1", served.port), {.tls = ours.settings(kFriend, kServer)});
  const auto echo = [&](std::size_t size) {
    return client.send({.method = "PUT", .target = "/echo", .body = std::string(size, 'x')});
  };
  EXPECT_EQ(echo(16U << 10U)->body.size(), 16U << 10U);
  EXPECT_EQ(echo(17U << 10U)->status, 413);
}

TEST_F(MutualTls, BodiesOfManyRecordsArriveWhole) {
  constexpr std::size_t kLargest = 8U << 20U;
  const int port = testing::free_port();
  const auto echo =
      HttpServer::listen(fmt::format("127.0.0.1:{}", port),
                         {{"PUT", "/echo", [](const HttpCall& call) { return HttpAnswer{.body = call.body}; }}},
                         {.largest_body = kLargest, .tls = [this] { return ours.shared(kServer); }});
  const HttpClient client(https_url("127.0.0.1", port),
                          {.largest_response = kLargest, .tls = ours.settings(kFriend, kServer)});
  std::string body;
  while (body.size() < kLargest - 100) body += std::to_string(body.size());
  for (int i = 0; i < 3; ++i) {
    const auto answer = client.send({.method = "PUT", .target = "/echo", .body = body});
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_TRUE(answer->body == body);
  }
}

TEST_F(MutualTls, ClientsOfTheSameSettingsExpectTheirOwnServers) {
  TlsSettings settings = ours.settings(kFriend, kServer);
  const HttpClient good(https_url("127.0.0.1", served.port), {.tls = settings});
  settings.server_uri = kStranger;
  const HttpClient bad(https_url("127.0.0.1", served.port), {.tls = settings});
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(good.send({.target = "/who"}));
    EXPECT_FALSE(bad.send({.target = "/who"}));
  }
}

TEST(CertificateAuthority, IsTheSameAfterItWasStored) {
  const TestAuthority ours;
  const auto stored = CertificateAuthority::from(ours.authority.identity());
  ASSERT_TRUE(stored) << stored.error().message;
  const Identity identity = stored->issue(kFriend, around_now());
  EXPECT_EQ(uri_of(identity.certificate), kFriend);
  const TlsServed served(ours.shared(kServer));
  EXPECT_TRUE(served.ask({ours.authority.identity().certificate, identity.certificate, identity.key, kServer}));
}

TEST(CertificateAuthority, TellsWhenACertificateExpires) {
  const auto period = around_now(std::chrono::hours(1), std::chrono::hours(30));
  const auto expiry = expiry_of(TestAuthority().authority.issue(kFriend, period).certificate);
  ASSERT_TRUE(expiry);
  EXPECT_EQ(*expiry, period.until);
  EXPECT_FALSE(expiry_of("nonsense"));
}

TEST(CertificateAuthority, IsNotMadeFromWhatIsNone) {
  const TestAuthority ours, others;
  const Identity own = ours.authority.identity();
  const Identity leaf = ours.authority.issue(kFriend, around_now());
  EXPECT_THAT(CertificateAuthority::from({own.certificate, "nonsense"}).error().message, HasSubstr("not PEM"));
  EXPECT_THAT(CertificateAuthority::from({own.certificate, others.authority.identity().key}).error().message,
              HasSubstr("does not belong to its certificate"));
  EXPECT_THAT(CertificateAuthority::from(leaf).error().message, HasSubstr("not that of a CA"));
}

}  // namespace
}  // namespace sailor::net
