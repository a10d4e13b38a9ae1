#include "core/net/client_stream.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <stdexcept>
#include <tuple>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/error.hpp>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include "core/net/tls.h"

namespace sailor::net {
namespace {

namespace asio = boost::asio;
using Socket = ClientStream::Socket;

bool is_temporary(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

Socket& socket_of(BIO* bio) { return *static_cast<Socket*>(BIO_get_data(bio)); }

// OpenSSL's own access to sockets would raise SIGPIPE when the server has gone.
int write_bytes(BIO* bio, const char* bytes, int count) {
  BIO_clear_retry_flags(bio);
  const ssize_t sent = ::send(socket_of(bio).native_handle(), bytes, static_cast<std::size_t>(count), MSG_NOSIGNAL);
  if (sent < 0 && is_temporary(errno)) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

int read_bytes(BIO* bio, char* bytes, int count) {
  BIO_clear_retry_flags(bio);
  const ssize_t received = ::recv(socket_of(bio).native_handle(), bytes, static_cast<std::size_t>(count), 0);
  if (received < 0 && is_temporary(errno)) BIO_set_retry_read(bio);
  return static_cast<int>(received);
}

long control(BIO* /*bio*/, int command, long /*number*/, void* /*argument*/) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

// It is never freed: threads of the pool may still write to a connection while the program ends (thread_pool.cc).
const BIO_METHOD* socket_method() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket of sailor");
    if (made == nullptr) throw std::bad_alloc();
    BIO_meth_set_write(made, write_bytes);
    BIO_meth_set_read(made, read_bytes);
    BIO_meth_set_ctrl(made, control);
    return made;
  }();
  return method;
}

int size_for_tls(std::size_t size) {
  return static_cast<int>(std::min<std::size_t>(size, std::numeric_limits<int>::max()));
}

boost::system::error_code newest_tls_error() {
  const unsigned long error = ERR_get_error();
  if (error == 0) return asio::ssl::error::stream_truncated;
  return {static_cast<int>(error), asio::error::get_ssl_category()};
}

void expect_host(SSL* tls, const std::string& host) {
  boost::system::error_code no_address;
  std::ignore = asio::ip::make_address(host, no_address);
  if (!no_address) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls), host.c_str());
    return;
  }
  SSL_set1_host(tls, host.c_str());
  SSL_set_tlsext_host_name(tls, host.c_str());
}

}  // namespace

void ClientStream::prepare_tcp() {
  ErrorCode ignored;
  std::ignore = socket_.set_option(asio::ip::tcp::no_delay(true), ignored);  // a request is several writes
  socket_.native_non_blocking(true);
}

void ClientStream::prepare_tls(SSL_CTX* context, const std::string& host, const std::string& server_uri) {
  prepare_tcp();
  tls_.reset(SSL_new(context));
  BIO* bio = BIO_new(socket_method());
  if (tls_ == nullptr || bio == nullptr) throw std::bad_alloc();
  BIO_set_data(bio, &socket_);
  BIO_set_init(bio, 1);
  SSL_set_bio(tls_.get(), bio, bio);  // it owns the BIO now
  if (server_uri.empty()) {
    expect_host(tls_.get(), host);
  } else {
    expect_server_uri(tls_.get(), server_uri);
  }
}

std::string ClientStream::fault_of_certificate() const {
  const long result = tls_ == nullptr ? X509_V_OK : SSL_get_verify_result(tls_.get());
  if (result == X509_V_OK) return "";
  // The only check of our own (check_server in tls.cc).
  if (result == X509_V_ERR_APPLICATION_VERIFICATION) return "the certificate names another program";
  return X509_verify_cert_error_string(result);
}

bool ClientStream::is_quiet() {
  if (tls_ != nullptr && SSL_has_pending(tls_.get()) != 0) return false;
  char byte = 0;
  return socket_.is_open() && ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
         is_temporary(errno);
}

ClientStream::Progress ClientStream::tls_progress(int result) {
  if (result > 0) return {.bytes = static_cast<std::size_t>(result)};
  const int system_error = errno;
  switch (SSL_get_error(tls_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return {.waits_for = Socket::wait_read};
    case SSL_ERROR_WANT_WRITE:
      return {.waits_for = Socket::wait_write};
    case SSL_ERROR_ZERO_RETURN:
      return {.error = asio::error::eof};
    case SSL_ERROR_SYSCALL:
      if (ERR_peek_error() == 0 && system_error != 0)
        return {.error = {system_error, boost::system::system_category()}};
      [[fallthrough]];
    default:
      return {.error = newest_tls_error()};
  }
}

ClientStream::Progress ClientStream::try_handshake() {
  ERR_clear_error();
  Progress progress = tls_progress(SSL_connect(tls_.get()));
  progress.bytes = 0;
  return progress;
}

ClientStream::Progress ClientStream::try_read(asio::mutable_buffer buffer) {
  if (buffer.size() == 0) return {};
  if (tls_ != nullptr) {
    ERR_clear_error();
    return tls_progress(SSL_read(tls_.get(), buffer.data(), size_for_tls(buffer.size())));
  }
  const ssize_t received = ::recv(socket_.native_handle(), buffer.data(), buffer.size(), 0);
  if (received > 0) return {.bytes = static_cast<std::size_t>(received)};
  if (received == 0) return {.error = asio::error::eof};
  if (is_temporary(errno)) return {.waits_for = Socket::wait_read};
  return {.error = {errno, boost::system::system_category()}};
}

ClientStream::Progress ClientStream::try_write(asio::const_buffer buffer) {
  if (buffer.size() == 0) return {};
  if (tls_ != nullptr) {
    ERR_clear_error();
    return tls_progress(SSL_write(tls_.get(), buffer.data(), size_for_tls(buffer.size())));
  }
  const ssize_t sent = ::send(socket_.native_handle(), buffer.data(), buffer.size(), MSG_NOSIGNAL);
  if (sent >= 0) return {.bytes = static_cast<std::size_t>(sent)};
  if (is_temporary(errno)) return {.waits_for = Socket::wait_write};
  return {.error = {errno, boost::system::system_category()}};
}

}  // namespace sailor::net
