// TcpPeer: the other side of a client or server of core/net, byte by byte, so that a test decides what arrives when.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sailor::net::testing {

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {
    if (fd < 0) throw std::runtime_error("a socket of the test cannot be opened");
  }
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  Socket& operator=(Socket&&) = delete;

  [[nodiscard]] int fd() const { return fd_; }

  // Returns false if the other side has closed the connection.
  [[nodiscard]] bool send(const std::string& text) const {
    return ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) == std::ssize(text);
  }

  // Waits for bytes. Returns an empty text if the other side has closed the connection.
  [[nodiscard]] std::string receive() const {
    char bytes[65536];
    const ssize_t count = ::recv(fd_, bytes, sizeof bytes, 0);
    return count > 0 ? std::string(bytes, static_cast<std::size_t>(count)) : "";
  }

 private:
  int fd_;
};

inline sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

// Listens at a free port of 127.0.0.1.
class TcpListener {
 public:
  TcpListener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    if (::bind(socket_.fd(), reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(socket_.fd(), 16) != 0) {
      throw std::runtime_error("the test cannot listen on loopback");
    }
    ::getsockname(socket_.fd(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }
  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] Socket accept() const { return Socket(::accept(socket_.fd(), nullptr, nullptr)); }

 private:
  Socket socket_;
  int port_ = 0;
};

inline int free_port() { return TcpListener().port(); }

inline Socket connect_to(int port) {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(port);
  if (::connect(socket.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw std::runtime_error("the test cannot connect");
  }
  return socket;
}

}  // namespace sailor::net::testing
