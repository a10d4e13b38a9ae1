#include "trainer/comm/backend_group.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/model/check.h"
#include "trainer/comm/backend_error.h"
#include "trainer/device/device.h"

namespace sailor::trainer {
namespace {

// What a backend throws after the interrupt is a consequence of the abort.
template <class Action>
auto attempt(const std::string& doing, const Interrupt& interrupt, UntypedErrors untyped, Action action) {
  interrupt.check(doing);
  try {
    return action();
  } catch (const std::exception& error) {
    interrupt.check(doing + ": " + first_line(error.what()));
    throw_translated(doing, error, untyped);
  }
}

// A collective or message that a backend has started.
struct Exchange {
  std::string doing;
  std::vector<at::Tensor> tensors;
  c10::intrusive_ptr<c10d::Work> work;
  std::chrono::milliseconds timeout;
  std::shared_ptr<const Interrupt> interrupt;
};

class BackendWork : public Work {
 public:
  explicit BackendWork(Exchange exchange) : exchange_(std::move(exchange)) {}

  // An aborted collective or message may look complete, so the interrupt is checked afterwards too.
  void wait() override {
    const auto& [doing, tensors, work, timeout, interrupt] = exchange_;
    attempt(doing, *interrupt, UntypedErrors::kMeanLostPeer, [&] {
      if (!work->wait(timeout)) throw std::runtime_error("aborted");
    });
    interrupt->check(doing);
  }

 protected:
  [[nodiscard]] const Exchange& exchange() const { return exchange_; }

 private:
  Exchange exchange_;
};

bool is_complete(c10d::Work& work) {
  const bool is_over = work.isCompleted();
  if (const auto error = work.exception()) std::rethrow_exception(error);
  return is_over;
}

// A collective whose wait makes the device wait. After the wait the watch looks at the device, so that the collective
// and its tensors can be freed.
class WatchedCollective : public BackendWork {
 public:
  WatchedCollective(Exchange exchange, CollectiveWatch::Watched watched)
      : BackendWork(std::move(exchange)), watched_(std::move(watched)) {}
  ~WatchedCollective() override {
    if (!is_waited_for_) watched_.end();
  }
  WatchedCollective(const WatchedCollective&) = delete;
  WatchedCollective& operator=(const WatchedCollective&) = delete;

  void wait() override {
    BackendWork::wait();
    watched_.replace(poller_of_given_work(exchange().tensors.front().device()));
    is_waited_for_ = true;
  }

 private:
  CollectiveWatch::Watched watched_;
  bool is_waited_for_ = false;
};

}  // namespace

// The messages of a group whose end somebody may wait for. When Gloo closes a connection, it ends these waits, except
// for a message of which it has already written or read a part: that wait would last until its timeout. A peer that is
// lost often leaves such a message.
class MessagesUnderWay {
 public:
  // Aborts all messages, and each that is added later.
  void abort() {
    const std::lock_guard lock(mutex_);
    is_aborted_ = true;
    for (c10d::Work* message : messages_) message->abort();
  }
  void add(c10d::Work& message) {
    const std::lock_guard lock(mutex_);
    messages_.insert(&message);
    if (is_aborted_) message.abort();
  }
  void remove(c10d::Work& message) {
    const std::lock_guard lock(mutex_);
    messages_.erase(&message);
  }

 private:
  std::mutex mutex_;
  bool is_aborted_ = false;
  std::set<c10d::Work*> messages_;
};

namespace {

class AbortableMessage : public BackendWork {
 public:
  AbortableMessage(Exchange exchange, std::shared_ptr<MessagesUnderWay> messages)
      : BackendWork(std::move(exchange)), messages_(std::move(messages)) {
    messages_->add(*this->exchange().work);
  }
  ~AbortableMessage() override { messages_->remove(*exchange().work); }
  AbortableMessage(const AbortableMessage&) = delete;
  AbortableMessage& operator=(const AbortableMessage&) = delete;

 private:
  std::shared_ptr<MessagesUnderWay> messages_;
};

std::string described(const std::string& name, const std::vector<Member>& members) {
  constexpr std::size_t kFew = 4;
  if (members.size() > kFew) return fmt::format("group {} of {} workers", name, members.size());
  std::vector<std::string> names;
  names.reserve(members.size());
  for (const Member& member : members) names.push_back(member.name);
  return fmt::format("group {} ({})", name, fmt::join(names, ", "));
}

}  // namespace

BackendGroup::BackendGroup(const std::string& name, std::vector<Member> members, Connection connection,
                           std::chrono::milliseconds timeout, std::shared_ptr<Interrupt> interrupt)
    : description_(described(name, members)),
      members_(std::move(members)),
      backend_(std::move(connection.backend)),
      timeout_(timeout),
      interrupt_(std::move(interrupt)),
      watch_(std::move(connection.watch)) {
  if (connection.aborts_single_messages) messages_ = std::make_shared<MessagesUnderWay>();
  interrupt_->add(this, [messages = messages_, abort = std::move(connection.abort)] {
    if (messages) messages->abort();
    abort();
  });
}

BackendGroup::~BackendGroup() { interrupt_->remove(this); }

void BackendGroup::set_timeout(std::chrono::milliseconds timeout) {
  timeout_ = timeout;
  if (!watch_) backend_->setTimeout(timeout);
}

std::unique_ptr<Work> BackendGroup::start_all_reduce(const at::Tensor& tensor) {
  return collective("all-reduce", {tensor}, [&](Tensors& tensors) { return backend_->allreduce(tensors); });
}

std::unique_ptr<Work> BackendGroup::start_reduce_scatter(const at::Tensor& input, const at::Tensor& output) {
  return collective("reduce-scatter", {input, output},
                    [&](Tensors& tensors) { return backend_->_reduce_scatter_base(tensors[1], tensors[0]); });
}

std::unique_ptr<Work> BackendGroup::start_all_gather(const at::Tensor& input, const at::Tensor& output) {
  return collective("all-gather", {input, output},
                    [&](Tensors& tensors) { return backend_->_allgather_base(tensors[1], tensors[0]); });
}

void BackendGroup::all_reduce_max(const at::Tensor& tensor) {
  c10d::AllreduceOptions options;
  options.reduceOp = c10d::ReduceOp::MAX;
  collective("all-reduce (maximum)", {tensor}, [&](Tensors& tensors) {
    return backend_->allreduce(tensors, options);
  })->wait();
}

std::unique_ptr<Work> BackendGroup::send(const at::Tensor& tensor, int to, int tag) {
  return message(fmt::format("sending to {}", name_of(to)), tensor,
                 [&](Tensors& tensors) { return backend_->send(tensors, index_of(to), tag); });
}

std::unique_ptr<Work> BackendGroup::receive(const at::Tensor& into, int from, int tag) {
  return message(fmt::format("receiving from {}", name_of(from)), into,
                 [&](Tensors& tensors) { return backend_->recv(tensors, index_of(from), tag); });
}

// Without a watch a collective has the backend's own timeout, from the moment at which it was started.
std::unique_ptr<Work> BackendGroup::collective(const char* kind, Tensors tensors, const Start& start) {
  const std::string doing = fmt::format("{} in {}", kind, description_);
  const auto work = attempt(doing, *interrupt_, UntypedErrors::kMeanWrongArguments, [&] { return start(tensors); });
  Exchange exchange{doing, std::move(tensors), work, kNoTimeout, interrupt_};
  if (!watch_) return std::make_unique<BackendWork>(std::move(exchange));
  return std::make_unique<WatchedCollective>(std::move(exchange),
                                             watch_->watch(doing, timeout_, [work] { return is_complete(*work); }));
}

// A message would use the timeout with which the backend was made, whatever is set later, so its wait is told the
// timeout.
std::unique_ptr<Work> BackendGroup::message(std::string doing, const at::Tensor& tensor, const Start& start) {
  Tensors tensors{tensor};
  auto work = attempt(doing, *interrupt_, UntypedErrors::kMeanWrongArguments, [&] { return start(tensors); });
  Exchange exchange{std::move(doing), std::move(tensors), std::move(work), timeout_, interrupt_};
  if (!messages_) return std::make_unique<BackendWork>(std::move(exchange));
  return std::make_unique<AbortableMessage>(std::move(exchange), messages_);
}

int BackendGroup::index_of(int rank) const {
  const auto found = std::ranges::find(members_, rank, &Member::rank);
  SAILOR_CHECK(found != members_.end(), "rank {} is not in {}", rank, description_);
  return static_cast<int>(found - members_.begin());
}

const std::string& BackendGroup::name_of(int rank) const {
  return members_[static_cast<std::size_t>(index_of(rank))].name;
}

}  // namespace sailor::trainer
