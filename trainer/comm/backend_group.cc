#include "trainer/comm/backend_group.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/model/check.h"

namespace sailor::trainer {
namespace {

class WorkTransfer : public Transfer {
 public:
  WorkTransfer(std::string doing, std::vector<at::Tensor> tensors, c10::intrusive_ptr<c10d::Work> work,
               std::chrono::milliseconds timeout)
      : doing_(std::move(doing)), tensors_(std::move(tensors)), work_(std::move(work)), timeout_(timeout) {}

  void wait() override {
    guarded(doing_, [&] { work_->wait(timeout_); });
  }

 private:
  std::string doing_;
  std::vector<at::Tensor> tensors_;
  c10::intrusive_ptr<c10d::Work> work_;
  std::chrono::milliseconds timeout_;
};

std::string described(const std::string& name, const std::vector<Member>& members) {
  constexpr std::size_t kFew = 4;
  if (members.size() > kFew) return fmt::format("group {} of {} workers", name, members.size());
  std::vector<std::string> names;
  names.reserve(members.size());
  for (const Member& member : members) names.push_back(member.name);
  return fmt::format("group {} ({})", name, fmt::join(names, ", "));
}

// Collectives have the backend's own timeout from their start on. A message between two would keep the one that the
// backend was made with, whatever is set later: it is told how long to wait.
template <class Start>
std::unique_ptr<Transfer> transfer(std::string doing, std::vector<at::Tensor> tensors, Start start,
                                   std::chrono::milliseconds timeout = kNoTimeout) {
  auto work = guarded(doing, [&] { return start(tensors); });
  return std::make_unique<WorkTransfer>(std::move(doing), std::move(tensors), std::move(work), timeout);
}

}  // namespace

// Gloo begins its messages with the place in its sources, "[.../pair.cc:547] "; nobody who reads ours needs it.
std::string first_line(const std::string& text) {
  const auto end_of_place = text.starts_with('[') ? text.find("] ") : std::string::npos;
  const std::size_t begin = end_of_place == std::string::npos ? 0 : end_of_place + 2;
  return text.substr(begin, text.find('\n') - begin);
}

BackendGroup::BackendGroup(const std::string& name, std::vector<Member> members, Connection connection,
                           std::chrono::milliseconds timeout, std::shared_ptr<Interrupt> interrupt)
    : name_(described(name, members)),
      members_(std::move(members)),
      backend_(std::move(connection.backend)),
      timeout_(timeout),
      interrupt_(std::move(interrupt)) {
  interrupt_->add(this, std::move(connection.break_off));
}

BackendGroup::~BackendGroup() { interrupt_->remove(this); }

void BackendGroup::set_timeout(std::chrono::milliseconds timeout) {
  timeout_ = timeout;
  backend_->setTimeout(timeout);
}

std::unique_ptr<Transfer> BackendGroup::start_sum(const at::Tensor& tensor) {
  return transfer(fmt::format("summing over {}", name_), {tensor},
                  [&](std::vector<at::Tensor>& tensors) { return backend_->allreduce(tensors); });
}

std::unique_ptr<Transfer> BackendGroup::start_sum_of_parts(const at::Tensor& parts, const at::Tensor& mine) {
  return transfer(fmt::format("summing parts over {}", name_), {parts, mine}, [&](std::vector<at::Tensor>& tensors) {
    return backend_->_reduce_scatter_base(tensors[1], tensors[0]);
  });
}

std::unique_ptr<Transfer> BackendGroup::start_gather(const at::Tensor& mine, const at::Tensor& parts) {
  return transfer(fmt::format("gathering over {}", name_), {mine, parts},
                  [&](std::vector<at::Tensor>& tensors) { return backend_->_allgather_base(tensors[1], tensors[0]); });
}

void BackendGroup::max(const at::Tensor& tensor) {
  c10d::AllreduceOptions options;
  options.reduceOp = c10d::ReduceOp::MAX;
  transfer(fmt::format("finding the largest in {}", name_), {tensor}, [&](std::vector<at::Tensor>& tensors) {
    return backend_->allreduce(tensors, options);
  })->wait();
}

std::unique_ptr<Transfer> BackendGroup::send(const at::Tensor& tensor, int to, int tag) {
  return transfer(
      fmt::format("sending to {}", members_[static_cast<std::size_t>(index_of(to))].name), {tensor},
      [&](std::vector<at::Tensor>& tensors) { return backend_->send(tensors, index_of(to), tag); }, timeout_);
}

std::unique_ptr<Transfer> BackendGroup::receive(const at::Tensor& into, int from, int tag) {
  return transfer(
      fmt::format("receiving from {}", members_[static_cast<std::size_t>(index_of(from))].name), {into},
      [&](std::vector<at::Tensor>& tensors) { return backend_->recv(tensors, index_of(from), tag); }, timeout_);
}

int BackendGroup::index_of(int rank) const {
  const auto found = std::ranges::find(members_, rank, &Member::rank);
  SAILOR_CHECK(found != members_.end(), "rank {} is not in {}", rank, name_);
  return static_cast<int>(found - members_.begin());
}

}  // namespace sailor::trainer
