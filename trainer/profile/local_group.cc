#include "trainer/profile/local_group.h"

#include <exception>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#include "trainer/comm/peer_lost.h"
#include "trainer/threads.h"

namespace sailor::trainer {
namespace {

constexpr std::chrono::milliseconds kPatience{60'000};

}  // namespace

void in_local_group(const LocalGroup& local, const std::function<void(int rank, Group& group)>& work) {
  const auto store = RendezvousHost::listen(local.host, local.port);
  if (!store) throw PeerLost(store.error().message);
  std::vector<int> ranks(static_cast<std::size_t>(local.size));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::mutex mutex;
  std::exception_ptr failure;
  std::vector<std::jthread> threads;
  for (const int rank : ranks) {
    threads.emplace_back([&, rank] {
      try {
        use_threads(local.threads);
        Rendezvous rendezvous(local.host, local.port, "profile", kPatience);
        GroupFactory factory(rendezvous, local.host, rank, kPatience);
        const auto group = factory.make("profile", ranks);
        work(rank, *group);
      } catch (...) {  // carried to the caller
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
      }
    });
  }
  threads.clear();  // joins
  if (failure) std::rethrow_exception(failure);
}

}  // namespace sailor::trainer
