// Tests the server with its own client, and with clients that misbehave.
#include "core/net/http_server.h"

#include <atomic>
#include <future>
#include <latch>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/net/http_client.h"
#include "tests/core/net/tcp_peer.h"

namespace sailor::net {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// A server at a port that is free. Another process may take a port between the choice and the listening, as the end of
// a connection for example, so several ports are tried.
std::pair<int, std::unique_ptr<HttpServer>> listen_at_free_port(const std::vector<Route>& routes,
                                                                HttpServerSettings settings) {
  constexpr int kTries = 20;
  for (int i = 1;; ++i) {
    const int port = testing::free_port();
    auto server = HttpServer::listen(fmt::format("127.0.0.1:{}", port), routes, settings);
    if (server || i == kTries) return {port, std::move(server).value()};
  }
}

struct Served {
  explicit Served(const std::vector<Route>& routes, HttpServerSettings settings = {})
      : Served(listen_at_free_port(routes, settings)) {}
  explicit Served(std::pair<int, std::unique_ptr<HttpServer>> listening)
      : port(listening.first), server(std::move(listening.second)), client(http_url("127.0.0.1", port), {}) {}

  [[nodiscard]] HttpResponse send(const HttpRequest& request) const {
    const auto response = client.send(request);
    EXPECT_TRUE(response) << response.error().message;
    return response.value_or(HttpResponse{});
  }

  int port;
  std::unique_ptr<HttpServer> server;
  HttpClient client;
};

constexpr int kMany = 16;  // more than the pool has threads

Route echo() {
  return {"PUT", "/echo", [](const HttpCall& call) { return HttpAnswer{.body = call.body}; }};
}

TEST(HttpServer, AnswersTextAndJsonByMethodAndPath) {
  const Served served({echo(), {"GET", "/json", [](const HttpCall&) { return json_answer(201, {{"a", 1}}); }}});
  EXPECT_EQ(served.send({.method = "PUT", .target = "/echo?x=1", .body = "é"}).body, "é");
  const HttpResponse json = served.send({.target = "/json"});
  EXPECT_EQ(json.status, 201);
  EXPECT_EQ(json.body, R"({"a":1})");
}

TEST(HttpServer, NamesItsRoutesToAClientThatAsksForAnother) {
  const Served served({echo()});
  const HttpResponse unknown = served.send({.target = "/other"});
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.body, R"({"error":"GET /other: use PUT /echo"})");
  EXPECT_EQ(served.send({.method = "POST", .target = "/echo"}).status, 405);
}

TEST(HttpServer, ARouteThatEndsWithAStarAnswersAllPathsBelowIt) {
  const Served served({{"GET", "/jobs/*", [](const HttpCall& call) { return HttpAnswer{.body = call.path}; }}});
  EXPECT_EQ(served.send({.target = "/jobs/team/a?x=1"}).body, "/jobs/team/a");
  EXPECT_EQ(served.send({.target = "/jobs/"}).body, "/jobs/");
  EXPECT_EQ(served.send({.target = "/jobs"}).status, 404);
  EXPECT_EQ(served.send({.target = "/other"}).body, R"({"error":"GET /other: use GET /jobs/*"})");
  EXPECT_EQ(served.send({.method = "PUT", .target = "/jobs/team/a"}).status, 405);
}

TEST(HttpServer, AnExceptionOfAHandlerIsAnsweredWith500) {
  const Served served({{"GET", "/", [](const HttpCall&) -> HttpAnswer { throw std::runtime_error("broken"); }}});
  const HttpResponse response = served.send({});
  EXPECT_EQ(response.status, 500);
  EXPECT_THAT(response.body, HasSubstr("GET /: broken"));
}

TEST(HttpServer, ABodyOfTheLimitIsAcceptedAndALargerOneIsRefused) {
  const Served served({echo()}, {.largest_body = 100'000});
  const std::string largest(100'000, 'x');
  EXPECT_EQ(served.send({.method = "PUT", .target = "/echo", .body = largest}).body, largest);
  const HttpResponse refused = served.send({.method = "PUT", .target = "/echo", .body = largest + "x"});
  EXPECT_EQ(refused.status, 413);
  EXPECT_EQ(refused.body, R"({"error":"PUT /echo: a body has at most 100000 bytes"})");
  EXPECT_EQ(served.send({.method = "PUT", .target = "/echo", .body = "next"}).body, "next");
}

TEST(HttpServer, ABodyOfUnknownSizeThatIsTooLargeIsRefused) {
  std::atomic<bool> is_handled = false;
  const Served served({{"PUT", "/",
                        [&](const HttpCall&) {
                          is_handled = true;
                          return HttpAnswer();
                        }}},
                      {.largest_body = 100'000});
  const testing::Socket client = testing::connect_to(served.port);
  EXPECT_TRUE(client.send("PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"));
  const std::string chunk = "400\r\n" + std::string(1024, 'x') + "\r\n";
  for (int i = 0; i < 1'000; ++i) EXPECT_TRUE(client.send(chunk));
  EXPECT_TRUE(client.send("0\r\n\r\n"));
  EXPECT_THAT(client.receive(), StartsWith("HTTP/1.1 413"));
  EXPECT_FALSE(is_handled);
}

TEST(HttpServer, UnfinishedBodiesDoNotOccupyThreads) {
  const Served served({echo()});
  std::vector<testing::Socket> slow;
  for (int i = 0; i < kMany; ++i) {
    slow.push_back(testing::connect_to(served.port));
    EXPECT_TRUE(slow.back().send("PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nbegin"));
  }
  EXPECT_EQ(served.send({.method = "PUT", .target = "/echo", .body = "next"}).body, "next");
}

TEST(HttpServer, ServesManyRequestsAtATime) {
  const Served served({echo()});
  constexpr int kRequests = 64;
  std::vector<std::promise<std::string>> answers(kRequests);
  for (int i = 0; i < kRequests; ++i) {
    served.client.send_async({.method = "PUT", .target = "/echo", .body = std::to_string(i)},
                             [&answer = answers[static_cast<std::size_t>(i)]](Result<HttpResponse> response) {
                               answer.set_value(response ? response->body : response.error().message);
                             });
  }
  for (int i = 0; i < kRequests; ++i) {
    EXPECT_EQ(answers[static_cast<std::size_t>(i)].get_future().get(), std::to_string(i));
  }
}

TEST(HttpServer, WaitsForItsHandlersWhenItStops) {
  std::promise<void> entered, may_leave;
  std::atomic<bool> has_left = false;
  auto served =
      std::make_unique<Served>(std::vector<Route>{{"GET", "/",
                                                   [&](const HttpCall&) {
                                                     entered.set_value();
                                                     may_leave.get_future().wait();
                                                     has_left = true;
                                                     return HttpAnswer();
                                                   }},
                                                  {"GET", "/other", [](const HttpCall&) { return HttpAnswer(); }}});
  served->client.send_async({}, [](const Result<HttpResponse>&) {});
  entered.get_future().wait();
  // The handler may leave only once the server is stopping: from then on it does not answer other requests with 200.
  const std::jthread releaser([&] {
    const auto answers = [&] {
      const auto response = served->client.send({.target = "/other"});
      return response && response->status == 200;
    };
    while (answers()) {
    }
    may_leave.set_value();
  });
  served->server.reset();
  EXPECT_TRUE(has_left);
}

TEST(HttpServer, StopsWhileItsAnswersAreSent) {
  constexpr int kServers = 200, kClients = 3;
  for (int i = 0; i < kServers; ++i) {
    auto served = std::make_unique<Served>(std::vector<Route>{echo()});
    std::latch all_have_answers(kClients);
    std::vector<std::jthread> clients;
    for (int client = 0; client < kClients; ++client) {
      clients.emplace_back([&, port = served->port] {
        const testing::Socket socket = testing::connect_to(port);
        const auto is_answered = [&] {
          return socket.send("PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na") &&
                 !socket.receive().empty();
        };
        EXPECT_TRUE(is_answered());
        all_have_answers.count_down();
        while (is_answered()) {
        }
      });
    }
    all_have_answers.wait();
    served->server.reset();
  }
}

TEST(HttpServer, AClientThatTakesNoAnswerDoesNotKeepItOpen) {
  Served served({{"GET", "/", [](const HttpCall&) { return HttpAnswer{.body = std::string(64U << 20U, 'x')}; }}});
  const testing::Socket client = testing::connect_to(served.port);
  EXPECT_TRUE(client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_THAT(client.receive(), StartsWith("HTTP/1.1 200"));
  served.server.reset();
}

TEST(HttpServer, ClosesTheConnectionOfAClientThatDoesNotSpeakHttp) {
  const Served served({echo()});
  const testing::Socket client = testing::connect_to(served.port);
  EXPECT_TRUE(client.send("hello\r\n\r\n"));
  EXPECT_THAT(client.receive(), StartsWith("HTTP/1.1 400"));
  EXPECT_EQ(client.receive(), "");
}

TEST(HttpServer, ARequestThatArrivesInPiecesIsAnswered) {
  const Served served({echo()});
  const testing::Socket client = testing::connect_to(served.port);
  for (const char byte : std::string("PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab")) {
    EXPECT_TRUE(client.send(std::string(1, byte)));
  }
  EXPECT_THAT(client.receive(), HasSubstr("\r\n\r\nab"));
}

TEST(HttpServer, SaysWhetherTheClientAcceptsGzip) {
  const Served served(
      {{"GET", "/", [](const HttpCall& call) { return HttpAnswer{.body = call.accepts_gzip ? "yes" : "no"}; }}});
  const auto answer_to = [&](const std::string& encodings) {
    return served.send({.headers = {{"Accept-Encoding", encodings}}}).body;
  };
  EXPECT_EQ(served.send({}).body, "no");
  for (const char* encodings : {"gzip", "GZIP", "br, gzip;q=0.5", "gzip;q=1"}) EXPECT_EQ(answer_to(encodings), "yes");
  for (const char* encodings : {"", "br", "gzip;q=0", "deflate, gzip; q=0.000", "xgzip", ","})
    EXPECT_EQ(answer_to(encodings), "no") << encodings;
}

TEST(HttpServer, SaysHowAnAnswerIsEncoded) {
  const Served served({{"GET", "/", [](const HttpCall&) {
                          return HttpAnswer{.body = "abc", .content_type = "x/y", .content_encoding = "z"};
                        }}});
  const testing::Socket client = testing::connect_to(served.port);
  EXPECT_TRUE(client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_THAT(client.receive(), HasSubstr("Content-Type: x/y\r\nContent-Encoding: z\r\n"));
}

TEST(HttpServer, HandlersOnAThreadOfTheServerRunOneAtATimeAndDelayNoOtherServer) {
  std::atomic<int> running = 0, most = 0;
  std::latch all_answered(kMany);
  std::promise<void> may_leave;
  std::shared_future<void> leaving = may_leave.get_future().share();
  const Served slow({{"GET", "/",
                      [&](const HttpCall&) {
                        most = std::max<int>(most, ++running);
                        leaving.wait();
                        --running;
                        return HttpAnswer();
                      }}},
                    {.has_own_thread = true});
  const Served other({echo()});
  for (int i = 0; i < kMany; ++i)
    slow.client.send_async({}, [&](const Result<HttpResponse>&) { all_answered.count_down(); });
  EXPECT_EQ(other.send({.method = "PUT", .target = "/echo", .body = "next"}).body, "next");
  may_leave.set_value();
  all_answered.wait();
  EXPECT_EQ(most, 1);
}

TEST(HttpServer, APortThatCannotBeIsRefused) {
  for (const char* address : {"127.0.0.1:99999", "127.0.0.1:-1", "127.0.0.1:", "127.0.0.1:80a", "127.0.0.1"}) {
    const auto server = HttpServer::listen(address, {});
    ASSERT_FALSE(server) << address;
    EXPECT_THAT(server.error().message, HasSubstr("port")) << address;
  }
}

TEST(HttpServer, AnAddressInUseIsNamed) {
  const Served served({echo()});
  const std::string address = fmt::format("127.0.0.1:{}", served.port);
  const auto second = HttpServer::listen(address, {echo()});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(second.error().message, HasSubstr("listening on " + address));
}

}  // namespace
}  // namespace sailor::net
