#include "trainer/comm/backend_group.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/model/check.h"

namespace sailor::trainer {
namespace {

class BackendWork : public Work {
 public:
  BackendWork(std::string doing, std::vector<at::Tensor> tensors, c10::intrusive_ptr<c10d::Work> work,
              std::chrono::milliseconds timeout)
      : doing_(std::move(doing)), tensors_(std::move(tensors)), work_(std::move(work)), timeout_(timeout) {}

  void wait() override {
    translate_errors(doing_, [&] {
      if (!work_->wait(timeout_)) throw std::runtime_error("a newer generation has ended this one");
    });
  }

 protected:
  [[nodiscard]] c10d::Work& work() const { return *work_; }

 private:
  std::string doing_;
  std::vector<at::Tensor> tensors_;
  c10::intrusive_ptr<c10d::Work> work_;
  std::chrono::milliseconds timeout_;
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
  AbortableMessage(std::string doing, const at::Tensor& tensor, c10::intrusive_ptr<c10d::Work> work,
                   std::chrono::milliseconds timeout, std::shared_ptr<MessagesUnderWay> messages)
      : BackendWork(std::move(doing), {tensor}, std::move(work), timeout), messages_(std::move(messages)) {
    messages_->add(this->work());
  }
  ~AbortableMessage() override { messages_->remove(work()); }
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

// A collective uses the backend's own timeout, from the moment it is started.
template <class Start>
std::unique_ptr<Work> started(std::string doing, std::vector<at::Tensor> tensors, Start start) {
  auto work = translate_errors(doing, [&] { return start(tensors); });
  return std::make_unique<BackendWork>(std::move(doing), std::move(tensors), std::move(work), kNoTimeout);
}

}  // namespace

// Gloo's messages begin with their source location, "[.../pair.cc:547] ", which does not help our readers.
std::string first_line(const std::string& text) {
  const auto end_of_place = text.starts_with('[') ? text.find("] ") : std::string::npos;
  const std::size_t begin = end_of_place == std::string::npos ? 0 : end_of_place + 2;
  return text.substr(begin, text.find('\n') - begin);
}

BackendGroup::BackendGroup(const std::string& name, std::vector<Member> members, Connection connection,
                           std::chrono::milliseconds timeout, std::shared_ptr<Interrupt> interrupt)
    : description_(described(name, members)),
      members_(std::move(members)),
      backend_(std::move(connection.backend)),
      timeout_(timeout),
      interrupt_(std::move(interrupt)) {
  if (connection.aborts_single_messages) messages_ = std::make_shared<MessagesUnderWay>();
  interrupt_->add(this, [messages = messages_, abort = std::move(connection.abort)] {
    if (messages) messages->abort();
    abort();
  });
}

BackendGroup::~BackendGroup() { interrupt_->remove(this); }

void BackendGroup::set_timeout(std::chrono::milliseconds timeout) {
  timeout_ = timeout;
  backend_->setTimeout(timeout);
}

std::unique_ptr<Work> BackendGroup::start_all_reduce(const at::Tensor& tensor) {
  return started(fmt::format("all-reduce in {}", description_), {tensor},
                 [&](std::vector<at::Tensor>& tensors) { return backend_->allreduce(tensors); });
}

std::unique_ptr<Work> BackendGroup::start_reduce_scatter(const at::Tensor& input, const at::Tensor& output) {
  return started(
      fmt::format("reduce-scatter in {}", description_), {input, output},
      [&](std::vector<at::Tensor>& tensors) { return backend_->_reduce_scatter_base(tensors[1], tensors[0]); });
}

std::unique_ptr<Work> BackendGroup::start_all_gather(const at::Tensor& input, const at::Tensor& output) {
  return started(fmt::format("all-gather in {}", description_), {input, output},
                 [&](std::vector<at::Tensor>& tensors) { return backend_->_allgather_base(tensors[1], tensors[0]); });
}

void BackendGroup::all_reduce_max(const at::Tensor& tensor) {
  c10d::AllreduceOptions options;
  options.reduceOp = c10d::ReduceOp::MAX;
  started(fmt::format("all-reduce (maximum) in {}", description_), {tensor}, [&](std::vector<at::Tensor>& tensors) {
    return backend_->allreduce(tensors, options);
  })->wait();
}

std::unique_ptr<Work> BackendGroup::send(const at::Tensor& tensor, int to, int tag) {
  std::vector<at::Tensor> tensors{tensor};
  const std::string doing = fmt::format("sending to {}", name_of(to));
  return message(doing, tensor, translate_errors(doing, [&] { return backend_->send(tensors, index_of(to), tag); }));
}

std::unique_ptr<Work> BackendGroup::receive(const at::Tensor& into, int from, int tag) {
  std::vector<at::Tensor> tensors{into};
  const std::string doing = fmt::format("receiving from {}", name_of(from));
  return message(doing, into, translate_errors(doing, [&] { return backend_->recv(tensors, index_of(from), tag); }));
}

// A message would use the timeout with which the backend was made, whatever is set later, so its wait is told the
// timeout.
std::unique_ptr<Work> BackendGroup::message(std::string doing, const at::Tensor& tensor,
                                            c10::intrusive_ptr<c10d::Work> work) const {
  if (messages_)
    return std::make_unique<AbortableMessage>(std::move(doing), tensor, std::move(work), timeout_, messages_);
  return std::make_unique<BackendWork>(std::move(doing), std::vector{tensor}, std::move(work), timeout_);
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
