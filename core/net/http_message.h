// HTTP requests and answers as values. Bodies are bytes: no character set is converted.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace sailor::net {

struct HttpRequest {
  std::string method = "GET";
  std::string target = "/";  // path and query
  std::string body = {};
  std::string content_type = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
};

// The answer that a client received.
struct HttpResponse {
  int status = 0;
  std::string body;
  std::optional<std::chrono::seconds> retry_after;  // the header Retry-After, if it is a number of seconds
};

// The answer of a handler of a server.
struct HttpAnswer {
  int status = 200;
  std::string body = {};
  std::string content_type = "text/plain; charset=utf-8";
  std::string content_encoding = {};  // "gzip": the body is compressed
};

// Bytes that are not UTF-8 are replaced, so that writing an error message of a third party cannot fail.
inline HttpAnswer json_answer(int status, const nlohmann::json& json) {
  return {status, json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), "application/json"};
}

inline bool is_success(int status) { return status / 100 == 2; }

// "10.0.0.1:7070", "[fd00::1]:7070".
inline std::string address_of(const std::string& host, int port) {
  const bool is_v6 = host.find(':') != std::string::npos;
  return (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

// Returns "HOST:PORT" with brackets around the host if it is an IPv6 address without them: "[fd00::1]:8082".
inline std::string with_brackets(const std::string& address) {
  const auto colon = address.rfind(':');
  if (colon == std::string::npos || address.starts_with('[')) return address;
  const bool is_v6 = address.find(':') != colon;
  return is_v6 ? "[" + address.substr(0, colon) + "]" + address.substr(colon) : address;
}

inline std::string http_url(const std::string& host, int port) { return "http://" + address_of(host, port); }
inline std::string https_url(const std::string& host, int port) { return "https://" + address_of(host, port); }

}  // namespace sailor::net
