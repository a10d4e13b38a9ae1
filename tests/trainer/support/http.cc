#include "tests/trainer/support/http.h"

#include <array>
#include <stdexcept>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sailor::trainer::testing {
namespace {

constexpr std::string_view kHeadEnd = "\r\n\r\n";

sockaddr_in address_of(const std::string& host, int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  return address;
}

void send_all(int fd, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t sent = ::send(fd, text.data() + done, text.size() - done, MSG_NOSIGNAL);
    if (sent <= 0) return;
    done += static_cast<std::size_t>(sent);
  }
}

std::size_t content_length(const std::string& head) {
  constexpr std::string_view kName = "Content-Length:";
  const auto at = head.find(kName);
  return at == std::string::npos ? 0 : std::stoul(head.substr(at + kName.size()));
}

// Head and body of one message.
std::pair<std::string, std::string> receive_message(int fd) {
  std::string text;
  std::array<char, 4096> buffer;
  while (true) {
    const auto end = text.find(kHeadEnd);
    if (end != std::string::npos && text.size() >= end + 4 + content_length(text.substr(0, end))) {
      return {text.substr(0, end), text.substr(end + 4)};
    }
    const ssize_t count = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (count <= 0) return {text, ""};
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace

HttpReply http(const std::string& method, const std::string& host, int port, const std::string& path,
               const std::string& body) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = address_of(host, port);
  HttpReply reply;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    send_all(fd, fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{}", method,
                             path, host, body.size(), body));
    const auto [head, content] = receive_message(fd);
    if (head.size() > 12) reply = {std::stoi(head.substr(9, 3)), nlohmann::json::parse(content, nullptr, false)};
  }
  ::close(fd);
  return reply;
}

HttpListener::HttpListener(const std::string& host, int port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const sockaddr_in address = address_of(host, port);
  if (::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || ::listen(fd_, 8) != 0) {
    throw std::runtime_error(fmt::format("cannot listen on {}:{}", host, port));
  }
}

HttpListener::~HttpListener() { ::close(fd_); }

nlohmann::json HttpListener::receive(int status) const {
  const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
  const auto [head, body] = receive_message(fd);
  send_all(fd, fmt::format("HTTP/1.1 {} \r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}", status));
  ::close(fd);
  return nlohmann::json::parse(body, nullptr, false);
}

}  // namespace sailor::trainer::testing
