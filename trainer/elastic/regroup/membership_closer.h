// MembershipCloser: closes the connections of a generation that the worker has left, on threads of their own. Gloo
// takes up to 10 ms for each connection of a group, one after the other, and the next generation does not need to wait
// for that.
#pragma once

#include <chrono>
#include <future>
#include <optional>
#include <utility>
#include <vector>

#include "trainer/elastic/regroup/regroup.h"

namespace sailor::trainer {

class MembershipCloser {
 public:
  // Begins with all groups at once, because any of them may be the one in which another worker waits for this one.
  void close(std::optional<Membership> membership) {
    std::erase_if(closing_, [](const std::future<void>& end) {
      return end.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    });
    if (!membership) return;
    if (membership->interrupt) membership->interrupt->raise();
    closing_.push_back(std::async(std::launch::async, [closed = std::move(membership)]() mutable { closed.reset(); }));
  }

 private:
  std::vector<std::future<void>> closing_;  // that of std::async, whose destructor waits
};

}  // namespace sailor::trainer
