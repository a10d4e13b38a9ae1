#include "core/net/thread_pool.h"

#include <cstddef>
#include <mutex>
#include <utility>  // Boost.Asio uses it without including it

#include <pplx/threadpool.h>

namespace sailor::net {
namespace {

// The library's own default of 40 threads makes it slower.
constexpr std::size_t kThreads = 4;

}  // namespace

void start_thread_pool() {
  static std::once_flag once;
  std::call_once(once, [] { crossplat::threadpool::initialize_with_threads(kThreads); });
}

}  // namespace sailor::net
