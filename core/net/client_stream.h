// ClientStream: a connection to a server over TCP or TLS. OpenSSL works on the socket itself. Boost.Asio's stream of
// TLS would keep 70 KB of buffers for each connection, and an operator has thousands of them
// (docs/decisions/0051-a-client-with-small-connections.md).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <boost/asio/buffer.hpp>
#include <boost/asio/compose.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <openssl/ssl.h>

namespace sailor::net {

// An AsyncReadStream and AsyncWriteStream of Boost.Asio. All its functions, and the executor, must be of one strand.
class ClientStream {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  using executor_type = Socket::executor_type;
  using ErrorCode = boost::system::error_code;

  explicit ClientStream(const executor_type& executor) : socket_(executor) {}
  ClientStream(const ClientStream&) = delete;
  ClientStream& operator=(const ClientStream&) = delete;

  executor_type get_executor() { return socket_.get_executor(); }
  Socket& socket() { return socket_; }

  // Call it once the socket is connected. The server's certificate must contain the URI `server_uri`, or name `host` if
  // that is empty. Both texts must outlive the stream, or the handshake at least.
  void prepare_tls(SSL_CTX* context, const std::string& host, const std::string& server_uri);
  void prepare_tcp();

  // Says why the server's certificate is not accepted; empty: it is, or has not been seen.
  [[nodiscard]] std::string fault_of_certificate() const;

  // Returns whether the server has neither closed the connection nor sent anything.
  [[nodiscard]] bool is_quiet();

  template <class Token>
  auto async_handshake(Token&& token) {
    return start([this] { return try_handshake(); }, std::forward<Token>(token));
  }
  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    const auto buffer = first<boost::asio::mutable_buffer>(buffers);
    return start([this, buffer] { return try_read(buffer); }, std::forward<Token>(token));
  }
  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    const auto buffer = first<boost::asio::const_buffer>(buffers);
    return start([this, buffer] { return try_write(buffer); }, std::forward<Token>(token));
  }

 private:
  // What a call that does not wait has achieved.
  struct Progress {
    std::size_t bytes = 0;
    ErrorCode error = {};
    std::optional<Socket::wait_type> waits_for = {};  // set: the call is to be repeated once the socket is ready
  };
  struct FreeTls {
    void operator()(SSL* tls) const { SSL_free(tls); }
  };

  // Tries until there is a result. The first try is posted, because a result must not come before the return.
  template <class Try>
  struct Operation {
    ClientStream& stream;
    Try attempt;
    bool is_posted = false;

    template <class Self>
    void operator()(Self& self, ErrorCode error = {}) {
      if (!is_posted) {
        is_posted = true;
        return boost::asio::post(stream.get_executor(), std::move(self));
      }
      if (!error && !stream.socket_.is_open()) error = boost::asio::error::operation_aborted;
      if (error) return self.complete(error, 0);
      const Progress progress = attempt();
      if (progress.waits_for) return stream.socket_.async_wait(*progress.waits_for, std::move(self));
      self.complete(progress.error, progress.bytes);
    }
  };

  template <class Try, class Token>
  auto start(Try attempt, Token&& token) {
    return boost::asio::async_compose<Token, void(ErrorCode, std::size_t)>(Operation<Try>{*this, std::move(attempt)},
                                                                           token, socket_);
  }

  template <class Buffer, class Buffers>
  static Buffer first(const Buffers& buffers) {
    for (auto buffer = boost::asio::buffer_sequence_begin(buffers); buffer != boost::asio::buffer_sequence_end(buffers);
         ++buffer) {
      if (Buffer(*buffer).size() > 0) return Buffer(*buffer);
    }
    return {};
  }

  Progress try_handshake();
  Progress try_read(boost::asio::mutable_buffer buffer);
  Progress try_write(boost::asio::const_buffer buffer);
  Progress tls_progress(int result);

  Socket socket_;
  std::unique_ptr<SSL, FreeTls> tls_;  // null: TCP
};

}  // namespace sailor::net
