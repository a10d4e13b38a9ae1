// HttpServer: requests with a small body, answered with JSON. The HTTP library stays behind this file.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "core/model/error.h"

namespace sailor::trainer {

struct HttpRequest {
  std::string method;
  std::string path;
  std::string body;
};

struct HttpAnswer {
  int status = 200;
  nlohmann::json body;
};

class HttpServer {
 public:
  using Handler = std::function<HttpAnswer(const HttpRequest&)>;  // called on several threads

  // Listens on this address only; takes requests from when it returns.
  static Result<std::unique_ptr<HttpServer>> listen(const std::string& host, int port, Handler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

 private:
  HttpServer();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// A path at the operator's callback, which is its address, with or without a slash at its end.
std::string url_at(const std::string& callback, const std::string& path);

// The status of the answer; an error where there is none.
Result<int> post_json(const std::string& url, const nlohmann::json& body);
Result<int> get_status(const std::string& url, std::chrono::milliseconds timeout);

}  // namespace sailor::trainer
