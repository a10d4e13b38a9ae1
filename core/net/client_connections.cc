#include "core/net/client_connections.h"

#include <stdexcept>
#include <utility>

#include <boost/asio/strand.hpp>
#include <cpprest/base_uri.h>

#include "core/net/http_message.h"
#include "core/net/thread_pool.h"

namespace sailor::net {
namespace {

constexpr std::chrono::seconds kLongestIdle(30);
constexpr int kHttpPort = 80;
constexpr int kHttpsPort = 443;

// "::1" for "[::1]".
std::string without_brackets(const std::string& host) {
  return host.starts_with('[') && host.ends_with(']') ? host.substr(1, host.size() - 2) : host;
}

}  // namespace

ServerUrl::ServerUrl(const std::string& url) {
  const web::uri uri(url);
  is_https = uri.scheme() == "https";
  if ((!is_https && uri.scheme() != "http") || uri.host().empty())
    throw std::invalid_argument("it must begin with http:// or https:// and a host");
  host = without_brackets(uri.host());
  const int default_port = is_https ? kHttpsPort : kHttpPort;
  port = uri.port() > 0 ? uri.port() : default_port;
  base = uri.path();
  while (base.ends_with('/')) base.pop_back();
}

ClientConnections::ClientConnections(const std::string& url, std::shared_ptr<SSL_CTX> tls, std::string server_uri)
    : server_(url),
      tls_(std::move(tls)),
      server_uri_(std::move(server_uri)),
      strand_(boost::asio::make_strand(thread_pool())),
      expiry_(strand_) {
  if (server_.is_https && tls_ == nullptr) throw std::invalid_argument("https needs a CA to trust");
}

std::string ClientConnections::host_header() const { return address_of(server_.host, server_.port); }

void ClientConnections::prepare(ClientStream& stream) const {
  if (server_.is_https) {
    stream.prepare_tls(tls_.get(), server_.host, server_uri_);
  } else {
    stream.prepare_tcp();
  }
}

std::unique_ptr<ClientStream> ClientConnections::take() {
  while (!idle_.empty()) {
    auto stream = std::move(idle_.back().stream);
    idle_.pop_back();
    if (stream->is_quiet()) return stream;
  }
  return nullptr;
}

void ClientConnections::keep(std::unique_ptr<ClientStream> stream) {
  idle_.push_back({std::move(stream), Clock::now()});
  if (idle_.size() == 1) await_expiry();
}

// A request that goes on may outlive this object, but the timer does not keep it.
void ClientConnections::await_expiry() {
  expiry_.expires_at(idle_.front().since + kLongestIdle);
  expiry_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (!error && self != nullptr) self->close_expired();
  });
}

void ClientConnections::close_expired() {
  std::erase_if(idle_, [limit = Clock::now() - kLongestIdle](const Idle& idle) { return idle.since <= limit; });
  if (!idle_.empty()) await_expiry();
}

}  // namespace sailor::net
