#include "trainer/comm/untimed_group.h"

#include <utility>

namespace sailor::trainer {
namespace {

class UntimedWork : public Work {
 public:
  UntimedWork(std::unique_ptr<Work> work, Stopwatch& watch) : work_(std::move(work)), watch_(watch) {}
  void wait() override {
    const PausedStopwatch paused(watch_);
    work_->wait();
  }

 private:
  std::unique_ptr<Work> work_;
  Stopwatch& watch_;
};

template <class Start>
std::unique_ptr<Work> untimed(Stopwatch& watch, Start start) {
  const PausedStopwatch paused(watch);
  return std::make_unique<UntimedWork>(start(), watch);
}

}  // namespace

std::unique_ptr<Work> UntimedGroup::start_all_reduce(const at::Tensor& tensor) {
  return untimed(watch_, [&] { return group_->start_all_reduce(tensor); });
}

std::unique_ptr<Work> UntimedGroup::start_reduce_scatter(const at::Tensor& input, const at::Tensor& output) {
  return untimed(watch_, [&] { return group_->start_reduce_scatter(input, output); });
}

std::unique_ptr<Work> UntimedGroup::start_all_gather(const at::Tensor& input, const at::Tensor& output) {
  return untimed(watch_, [&] { return group_->start_all_gather(input, output); });
}

void UntimedGroup::all_reduce_max(const at::Tensor& tensor) {
  const PausedStopwatch paused(watch_);
  group_->all_reduce_max(tensor);
}

std::unique_ptr<Work> UntimedGroup::send(const at::Tensor& tensor, int to, int tag) {
  return untimed(watch_, [&] { return group_->send(tensor, to, tag); });
}

std::unique_ptr<Work> UntimedGroup::receive(const at::Tensor& into, int from, int tag) {
  return untimed(watch_, [&] { return group_->receive(into, from, tag); });
}

}  // namespace sailor::trainer
