#include "trainer/profile/local_group.h"

#include <exception>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#include "trainer/comm/communication_error.h"
#include "trainer/comm/group_factory.h"
#include "trainer/device/device.h"

namespace sailor::trainer {
namespace {

constexpr std::chrono::milliseconds kGroupTimeout{60'000};

}  // namespace

void run_local_group(const LocalGroupOptions& options, const std::function<void(int rank, Group& group)>& work) {
  const auto store = RendezvousServer::listen(options.host, options.port);
  if (!store) throw CommunicationError(store.error().message);
  std::vector<int> ranks(static_cast<std::size_t>(options.size));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::mutex mutex;
  std::exception_ptr failure;
  std::vector<std::jthread> threads;
  threads.reserve(ranks.size());
  for (const int rank : ranks) {
    threads.emplace_back([&, rank] {
      try {
        set_cpu_threads(options.threads);
        Rendezvous rendezvous(options.host, options.port, "profile", kGroupTimeout);
        GroupFactory factory(rendezvous, options.host, rank, kGroupTimeout);
        const auto group = factory.make_collective_group("profile", ranks);
        work(rank, *group);
      } catch (...) {  // thrown again in the caller's thread
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
      }
    });
  }
  threads.clear();  // joins
  if (failure) std::rethrow_exception(failure);
}

}  // namespace sailor::trainer
