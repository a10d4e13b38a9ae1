#include "core/net/thread_pool.h"

#include <cstddef>
#include <latch>
#include <memory>
#include <mutex>
#include <utility>  // Boost.Asio uses it without including it

#include <openssl/ssl.h>
#include <pplx/threadpool.h>

namespace sailor::net {
namespace {

// The library's own default of 40 threads makes it slower.
constexpr std::size_t kThreads = 4;

// Runs what is still queued at the end of the program, such as the continuations of requests that were broken off. The
// pool would discard it, with all that it owns, which is a leak to a sanitizer. Destroyed before the pool, because it
// is created after it.
class LastTasks {
 public:
  LastTasks() = default;
  LastTasks(const LastTasks&) = delete;
  LastTasks& operator=(const LastTasks&) = delete;
  ~LastTasks() {
    for (int round = 0; round < kLongestChain; ++round) run_queued();
  }

 private:
  static constexpr int kLongestChain = 100;  // more continuations than any request has, one after the other

  // All threads meet, so each has finished what it took from the queue before.
  static void run_queued() {
    const auto all = std::make_shared<std::latch>(kThreads);
    for (std::size_t thread = 0; thread < kThreads; ++thread) {
      crossplat::threadpool::shared_instance().service().post([all] { all->arrive_and_wait(); });
    }
    all->wait();
  }
};

}  // namespace

boost::asio::io_context& thread_pool() {
  static std::once_flag once;
  std::call_once(once, [] {
    crossplat::threadpool::initialize_with_threads(kThreads);
    OPENSSL_init_ssl(0, nullptr);  // so that OpenSSL ends after the last tasks, which use it
    static const LastTasks last_tasks;
  });
  return crossplat::threadpool::shared_instance().service();
}

}  // namespace sailor::net
