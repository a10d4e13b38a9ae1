// A blocking HTTP exchange as the operator has with an agent, and a listener that takes agents' hints.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace sailor::trainer::testing {

struct HttpReply {
  int status = 0;  // 0: nobody answered
  nlohmann::json body;
};

HttpReply http(const std::string& method, const std::string& host, int port, const std::string& path,
               const std::string& body = "");

// Listens on the address; receive() takes one request, answers it with the status and returns its body.
class HttpListener {
 public:
  HttpListener(const std::string& host, int port);
  ~HttpListener();
  HttpListener(const HttpListener&) = delete;
  HttpListener& operator=(const HttpListener&) = delete;
  [[nodiscard]] nlohmann::json receive(int status = 200) const;

 private:
  int fd_;
};

}  // namespace sailor::trainer::testing
