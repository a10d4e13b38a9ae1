// Tests the client with servers that misbehave: they do not answer, are slow, send too much, or close the connection.
#include "core/net/http_client.h"

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/net/tcp_peer.h"

namespace sailor::net {
namespace {

using testing::free_port;
using ::testing::HasSubstr;
using testing::Socket;
using testing::TcpListener;

constexpr auto kLongest = std::chrono::seconds(30);  // far longer than needed, so that only a failure exceeds it
constexpr const char* kChunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

std::string chunk(const std::string& text) { return fmt::format("{:x}\r\n{}\r\n", text.size(), text); }

std::string answer(const std::string& body, const std::string& status = "200 OK") {
  return fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\n\r\n{}", status, body.size(), body);
}

HttpClient client_of(const TcpListener& server, HttpClientSettings settings = {}) {
  return HttpClient(http_url("127.0.0.1", server.port()), std::move(settings));
}

// Serves one connection in a thread of its own.
template <class Serve>
std::jthread serving(const TcpListener& server, Serve serve) {
  return std::jthread([&server, serve] {
    const Socket connection = server.accept();
    EXPECT_FALSE(connection.receive().empty());  // the request
    serve(connection);
  });
}

TEST(HttpClient, ReturnsStatusBodyAndRetryAfter) {
  const TcpListener server;
  const auto peer = serving(server, [](const Socket& connection) {
    EXPECT_TRUE(connection.send("HTTP/1.1 429 Slow\r\nRetry-After: 7\r\nContent-Length: 4\r\n\r\nbusy"));
  });
  const auto response = client_of(server).send({});
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 429);
  EXPECT_EQ(response->body, "busy");
  EXPECT_EQ(response->retry_after, std::chrono::seconds(7));
}

TEST(HttpClient, FollowsNoRedirect) {
  const TcpListener other;  // nobody accepts here, so a request that was led here would time out
  const TcpListener server;
  const std::string moved =
      fmt::format("HTTP/1.1 307 Moved\r\nLocation: http://127.0.0.1:{}/\r\nContent-Length: 0\r\n\r\n", other.port());
  const auto peer = serving(server, [&](const Socket& connection) { EXPECT_TRUE(connection.send(moved)); });
  const auto response = client_of(server).send({});
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 307);
}

TEST(HttpClient, SaysWhichServerDoesNotAnswer) {
  const std::string url = http_url("127.0.0.1", free_port());
  const auto response = HttpClient(url, {}).send({.target = "/v1/state"});
  EXPECT_EQ(response.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(response.error().message, HasSubstr("GET " + url + "/v1/state: "));
  EXPECT_THAT(response.error().message, HasSubstr("check that the server runs"));
}

TEST(HttpClient, AnInvalidUrlIsTheErrorOfEachRequest) {
  const auto response = HttpClient("no url", {}).send({});
  EXPECT_EQ(response.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(response.error().message, HasSubstr("no url"));
}

TEST(HttpClient, ABodyThatArrivesSlowlyExceedsTheTotalTimeout) {
  const TcpListener server;
  const auto peer = serving(server, [](const Socket& connection) {
    EXPECT_TRUE(connection.send(kChunked));
    // The sleep plays a slow peer: it sends often enough never to be idle, and never ends the body.
    while (connection.send(chunk("x"))) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  });
  const auto begin = std::chrono::steady_clock::now();
  const auto response = client_of(server, {.timeout = std::chrono::milliseconds(300)}).send({});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kLongest);
  EXPECT_EQ(response.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(response.error().message, HasSubstr("no complete answer came within 300 ms"));
}

TEST(HttpClient, ARequestThatIsNotAnsweredTimesOut) {
  const TcpListener server;  // never accepts; the kernel establishes the connection
  const auto response = client_of(server, {.timeout = std::chrono::milliseconds(200)}).send({});
  EXPECT_THAT(response.error().message, HasSubstr("no complete answer came within 200 ms"));
}

TEST(HttpClient, AnAnswerThatAnnouncesTooLargeABodyIsRefused) {
  const TcpListener server;
  const auto peer = serving(server, [](const Socket& connection) {
    EXPECT_TRUE(connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\nbegin"));
    EXPECT_EQ(connection.receive(), "") << "the client closes the connection";
  });
  const auto response = client_of(server, {.largest_response = 1000}).send({});
  EXPECT_THAT(response.error().message, HasSubstr("the answer is larger than 1000 bytes"));
}

TEST(HttpClient, AnAnswerOfUnknownSizeIsReadUpToTheLimit) {
  const TcpListener server;
  const auto peer = serving(server, [](const Socket& connection) {
    EXPECT_TRUE(connection.send(kChunked));
    while (connection.send(chunk(std::string(1000, 'x')))) {
    }
  });
  const auto response = client_of(server, {.largest_response = 5000}).send({});
  EXPECT_THAT(response.error().message, HasSubstr("the answer is larger than 5000 bytes"));
}

TEST(HttpClient, ARequestWithTooLargeABodyIsNotSent) {
  const TcpListener server;
  const auto response =
      client_of(server, {.largest_request = 10}).send({.method = "PUT", .body = std::string(11, 'x')});
  EXPECT_EQ(response.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(response.error().message, HasSubstr("the body has 11 bytes, and 10 are the limit"));
}

TEST(HttpClient, ConnectionsThatBreakAreErrors) {
  const TcpListener server;
  const auto peer = serving(server, [](const Socket& connection) {
    EXPECT_TRUE(connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegin"));
  });
  EXPECT_EQ(client_of(server).send({}).error().code, ErrorCode::kUnavailable);
}

TEST(HttpClient, AConnectionServesManyRequests) {
  const TcpListener server;
  constexpr int kRequests = 5;
  const std::jthread peer([&] {
    const Socket connection = server.accept();
    for (int i = 0; i < kRequests; ++i) {
      EXPECT_FALSE(connection.receive().empty());
      EXPECT_TRUE(connection.send(answer(std::to_string(i))));
    }
  });
  const HttpClient client = client_of(server);
  for (int i = 0; i < kRequests; ++i) EXPECT_EQ(client.send({})->body, std::to_string(i));
}

TEST(HttpClient, AConnectionThatTheServerWantsToCloseIsNotUsedAgain) {
  const TcpListener server;
  const std::jthread peer([&] {
    const Socket first = server.accept();
    EXPECT_FALSE(first.receive().empty());
    EXPECT_TRUE(first.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\n1"));
    const Socket second = server.accept();
    EXPECT_FALSE(second.receive().empty());
    EXPECT_TRUE(second.send("HTTP/1.0 200 OK\r\n\r\n2"));  // the body ends with the connection
  });
  const HttpClient client = client_of(server);
  EXPECT_EQ(client.send({})->body, "1");
  EXPECT_EQ(client.send({})->body, "2");
}

TEST(HttpClient, AConnectionThatWasClosedWhileItWaitedIsReplaced) {
  const TcpListener server;
  std::promise<void> is_closed;
  const std::jthread peer([&] {
    {
      const Socket first = server.accept();
      EXPECT_FALSE(first.receive().empty());
      EXPECT_TRUE(first.send(answer("1")));
    }
    is_closed.set_value();
    const Socket second = server.accept();
    EXPECT_THAT(second.receive(), ::testing::StartsWith("POST /"));
    EXPECT_TRUE(second.send(answer("2")));
  });
  const HttpClient client = client_of(server);
  EXPECT_EQ(client.send({})->body, "1");
  is_closed.get_future().wait();
  EXPECT_EQ(client.send({.method = "POST"})->body, "2");
}

// The server reads the second request and closes the connection, as if it had begun to close it before. Returns the
// methods of the requests that it has read.
std::vector<std::string> requests_seen(const std::string& method, Result<HttpResponse>& last) {
  const TcpListener server;
  std::vector<std::string> seen;
  const auto read_from = [&](const Socket& connection) {
    const std::string request = connection.receive();
    seen.push_back(request.substr(0, request.find(' ')));
  };
  const HttpClient client = client_of(server);
  std::jthread peer([&] {
    {
      const Socket first = server.accept();
      read_from(first);
      EXPECT_TRUE(first.send(answer("")));
      read_from(first);
    }
    if (method == "POST") return;
    const Socket second = server.accept();
    read_from(second);
    EXPECT_TRUE(second.send(answer("repeated")));
  });
  EXPECT_TRUE(client.send({}));
  last = client.send({.method = method});
  peer.join();
  return seen;
}

TEST(HttpClient, ARequestOnAConnectionThatIsBeingClosedIsRepeatedIfThatDoesNoHarm) {
  Result<HttpResponse> last;
  EXPECT_THAT(requests_seen("PUT", last), ::testing::ElementsAre("GET", "PUT", "PUT"));
  EXPECT_EQ(last->body, "repeated");
  EXPECT_THAT(requests_seen("POST", last), ::testing::ElementsAre("GET", "POST"));
  EXPECT_EQ(last.error().code, ErrorCode::kUnavailable);
}

TEST(HttpClient, TheAnswerToHeadHasNoBody) {
  const TcpListener server;
  const auto peer = serving(server, [](const Socket& connection) {
    EXPECT_TRUE(connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"));
  });
  EXPECT_EQ(client_of(server).send({.method = "HEAD"})->body, "");
}

TEST(HttpClient, SendsHeadersAndThePathOfItsUrl) {
  const TcpListener server;
  std::string request;
  const std::jthread peer([&] {
    const Socket connection = server.accept();
    request = connection.receive();
    EXPECT_TRUE(connection.send(answer("")));
  });
  const HttpClient client(http_url("127.0.0.1", server.port()) + "/base/", {});
  EXPECT_TRUE(client.send({.method = "PUT",
                           .target = "/a?b=c",
                           .body = "{}",
                           .content_type = "application/json",
                           .headers = {{"Accept", "x/y"}}}));
  EXPECT_EQ(request, fmt::format("PUT /base/a?b=c HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAccept: x/y\r\n"
                                 "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}",
                                 server.port()));
}

TEST(HttpClient, AsynchronousRequestsOutliveTheirClient) {
  const TcpListener server;
  std::promise<void> client_is_gone;
  const auto peer = serving(server, [&](const Socket& connection) {
    client_is_gone.get_future().wait();
    EXPECT_TRUE(connection.send(answer("late")));
  });
  std::promise<Result<HttpResponse>> received;
  client_of(server).send_async({}, [&](Result<HttpResponse> response) { received.set_value(std::move(response)); });
  client_is_gone.set_value();
  const auto response = received.get_future().get();
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, "late");
}

TEST(HttpStream, HandsOverEachChunkWhileTheStreamGoesOn) {
  const TcpListener server;
  std::promise<void> first, second;
  const auto peer = serving(server, [&](const Socket& connection) {
    EXPECT_TRUE(connection.send(kChunked + chunk("one")));
    EXPECT_EQ(first.get_future().wait_for(kLongest), std::future_status::ready);
    EXPECT_TRUE(connection.send(chunk("two")));
    EXPECT_EQ(second.get_future().wait_for(kLongest), std::future_status::ready);
    EXPECT_TRUE(connection.send("0\r\n\r\n"));
  });
  std::string text;
  const auto response = client_of(server).stream({},
                                                 [&](std::string_view bytes) {
                                                   text += bytes;
                                                   if (text == "one") first.set_value();
                                                   if (text == "onetwo") second.set_value();
                                                 },
                                                 {});
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(text, "onetwo");
}

TEST(HttpStream, EndsAtOnceWhenAStopIsRequested) {
  const TcpListener server;
  const auto peer = serving(server, [](const Socket& connection) {
    EXPECT_TRUE(connection.send(kChunked + chunk("one")));
    EXPECT_EQ(connection.receive(), "") << "the client closes the connection";
  });
  std::stop_source stop;
  std::jthread stopper;
  const auto response = client_of(server).stream(
      {}, [&](std::string_view) { stopper = std::jthread([&] { stop.request_stop(); }); }, stop.get_token());
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 200);
}

TEST(HttpStream, LastsLongerThanTheTimeoutOfARequestButFailsWhenNothingArrives) {
  const TcpListener server;
  const auto peer = serving(server, [](const Socket& connection) {
    EXPECT_TRUE(connection.send(kChunked));
    // The sleeps play a slow peer: its ten chunks take at least 200 ms, four times the timeout of a request.
    for (int i = 0; i < 10; ++i) {
      EXPECT_TRUE(connection.send(chunk("x")));
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_EQ(connection.receive(), "") << "the client gives up";
  });
  std::size_t bytes = 0;
  const auto response =
      client_of(server, {.timeout = std::chrono::milliseconds(50), .stream_idle_timeout = std::chrono::seconds(1)})
          .stream({}, [&](std::string_view text) { bytes += text.size(); }, {});
  EXPECT_EQ(bytes, 10U);
  EXPECT_EQ(response.error().code, ErrorCode::kUnavailable);
}

TEST(HttpStream, TheBodyOfARefusalIsReturned) {
  const TcpListener server;
  const auto peer =
      serving(server, [](const Socket& connection) { EXPECT_TRUE(connection.send(answer("too old", "410 Gone"))); });
  const auto response =
      client_of(server).stream({}, [](std::string_view) { ADD_FAILURE() << "a refusal is not streamed"; }, {});
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 410);
  EXPECT_EQ(response->body, "too old");
}

TEST(HttpStream, AnExceptionOfTheSinkPassesThrough) {
  const TcpListener server;
  const auto peer = serving(server, [](const Socket& connection) {
    EXPECT_TRUE(connection.send(kChunked + chunk("one")));
    EXPECT_EQ(connection.receive(), "") << "the client closes the connection";
  });
  const auto stream = [&] {
    return client_of(server).stream({}, [](std::string_view) { throw std::invalid_argument("no"); }, {});
  };
  EXPECT_THROW((void)stream(), std::invalid_argument);
}

}  // namespace
}  // namespace sailor::net
