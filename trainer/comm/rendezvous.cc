#include "trainer/comm/rendezvous.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <c10/util/Logging.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <unistd.h>

#include "core/model/check.h"
#include "core/model/parse_number.h"
#include "trainer/comm/communication_error.h"

// Replaces the function of the C library in this program. LibTorch asks for the name of the peer of each connection to
// the store, only for its messages. Without a name server that answers, the call takes 5 s or more, which is longer
// than a worker may take to connect. So addresses have no names here.
// NOLINTNEXTLINE(readability-function-size): its parameters are those of the C library
extern "C" int getnameinfo(const sockaddr* address, socklen_t address_size, char* host, socklen_t host_size,
                           char* service, socklen_t service_size, int flags) {
  static const auto original = reinterpret_cast<decltype(&getnameinfo)>(dlsym(RTLD_NEXT, "getnameinfo"));
  return original(address, address_size, host, host_size, service, service_size, flags | NI_NUMERICHOST);
}

namespace sailor::trainer {
namespace {

// LibTorch warns whenever a wait times out, but timeouts are expected here.
[[maybe_unused]] const bool kIsQuiet = [] {
  ::setenv("TORCH_CPP_LOG_LEVEL", "ERROR", /*overwrite=*/0);
  c10::initLogging();
  return true;
}();

[[noreturn]] void lost(const char* doing, const std::string& key, const std::exception& error) {
  const std::string text = error.what();
  throw CommunicationError(
      fmt::format("{} \"{}\" at the rendezvous store: {}", doing, key, text.substr(0, text.find('\n'))));
}

constexpr const char* kFreeThePort = "free the port or choose another (--store-port of `agent`, --port of `links`)";
constexpr const char* kUseAnotherAddress = "set --host to an IP address of this machine";

Error cannot_listen(const std::string& host, int port, const std::string& why, const char* remedy) {
  return {ErrorCode::kUnavailable,
          fmt::format("listening on {}:{} for the rendezvous store: {}; {}", host, port, why, remedy)};
}

// Returns a listening socket that is bound to this address only. LibTorch itself would take the port on all addresses.
Result<int> listening_socket(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (const int code = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found); code != 0) {
    return tl::unexpected(cannot_listen(host, port, gai_strerror(code), kUseAnotherAddress));
  }
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  const bool is_listening = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
                            bind(fd, found->ai_addr, found->ai_addrlen) == 0 && ::listen(fd, SOMAXCONN) == 0;
  const int error = errno;
  freeaddrinfo(found);
  if (is_listening) return fd;
  if (fd >= 0) close(fd);
  const bool is_of_another = error == EADDRNOTAVAIL;
  return tl::unexpected(
      cannot_listen(host, port, std::strerror(error), is_of_another ? kUseAnotherAddress : kFreeThePort));
}

// Returns the generation of a key of this job: 12 for "UID/12/here/0". Returns nothing for other keys.
std::optional<std::int64_t> generation_of(std::string_view key, const std::string& job_uid) {
  key.remove_prefix(std::min(key.find_first_not_of('/'), key.size()));
  if (!key.starts_with(job_uid + '/')) return std::nullopt;
  key.remove_prefix(job_uid.size() + 1);
  const auto slash = key.find('/');
  return slash == std::string_view::npos ? std::nullopt : parse_number<std::int64_t>(key.substr(0, slash));
}

}  // namespace

std::string rendezvous_prefix(const std::string& job_uid, std::int64_t generation) {
  return fmt::format("{}/{}", job_uid, generation);
}

struct Rendezvous::Impl {
  c10::intrusive_ptr<c10d::TCPStore> server;
  c10::intrusive_ptr<c10d::PrefixStore> store;
};

Rendezvous::Rendezvous(const std::string& host, int port, std::string prefix, std::chrono::milliseconds timeout)
    : impl_(std::make_unique<Impl>()) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(port);
  options.timeout = timeout;
  options.waitWorkers = false;
  options.useLibUV = false;
  try {
    impl_->server = c10::make_intrusive<c10d::TCPStore>(host, options);
    impl_->store = c10::make_intrusive<c10d::PrefixStore>(std::move(prefix), impl_->server);
  } catch (const std::exception& error) {
    lost("connecting to", fmt::format("{}:{}", host, port), error);
  }
}

Rendezvous::~Rendezvous() = default;

void Rendezvous::set(const std::string& key, const std::string& value) {
  // LibTorch sends a value's length with the flag that more bytes follow. If none do, the kernel waits 200 ms for them.
  SAILOR_CHECK(!value.empty(), "the value of key {} is empty", key);
  try {
    impl_->store->set(key, std::vector<std::uint8_t>(value.begin(), value.end()));
  } catch (const std::exception& error) {
    lost("setting", key, error);
  }
}

std::optional<std::string> Rendezvous::wait(const std::string& key, std::chrono::milliseconds timeout) {
  auto values = wait_for_all({key}, timeout);
  return values ? std::optional(std::move(values->front())) : std::nullopt;
}

std::optional<std::vector<std::string>> Rendezvous::wait_for_all(const std::vector<std::string>& keys,
                                                                 std::chrono::milliseconds timeout) {
  try {
    impl_->store->wait(keys, timeout);
    std::vector<std::string> values;
    for (const auto& value : impl_->store->multiGet(keys)) values.emplace_back(value.begin(), value.end());
    return values;
  } catch (const c10::DistStoreError&) {  // a timeout; a lost connection is a DistNetworkError
    return std::nullopt;
  } catch (const std::exception& error) {
    lost("reading", keys.front(), error);
  }
}

bool Rendezvous::is_set(const std::string& key) {
  try {
    return impl_->store->check({key});
  } catch (const std::exception& error) {
    lost("looking for", key, error);
  }
}

c10::intrusive_ptr<c10d::Store> Rendezvous::store() const { return impl_->store; }

struct RendezvousServer::Impl {
  c10::intrusive_ptr<c10d::TCPStore> server;
};

RendezvousServer::RendezvousServer() : impl_(std::make_unique<Impl>()) {}
RendezvousServer::~RendezvousServer() = default;

Result<std::unique_ptr<RendezvousServer>> RendezvousServer::listen(const std::string& host, int port) {
  const auto socket = listening_socket(host, port);
  if (!socket) return tl::unexpected(socket.error());
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(port);
  options.isServer = true;
  options.waitWorkers = false;
  options.useLibUV = false;
  options.masterListenFd = *socket;
  try {
    std::unique_ptr<RendezvousServer> store(new RendezvousServer);
    store->impl_->server = c10::make_intrusive<c10d::TCPStore>(host, options);
    return store;
  } catch (const std::exception& error) {
    return tl::unexpected(cannot_listen(host, port, error.what(), kFreeThePort));
  }
}

Result<std::size_t> RendezvousServer::delete_generations_before(const std::string& job_uid, std::int64_t generation) {
  try {
    std::size_t left = 0;
    for (const std::string& key : impl_->server->listKeys()) {
      const auto number = generation_of(key, job_uid);
      const bool is_older = number && *number < generation;
      if (!is_older || !impl_->server->deleteKey(key)) ++left;
    }
    return left;
  } catch (const std::exception& error) {
    return fail(ErrorCode::kUnavailable, fmt::format("deleting keys of the rendezvous store: {}", error.what()));
  }
}

}  // namespace sailor::trainer
