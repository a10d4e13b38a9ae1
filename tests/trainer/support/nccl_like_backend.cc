#include "tests/trainer/support/nccl_like_backend.h"

#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "tests/trainer/support/assignments.h"
#include "trainer/comm/gloo.h"

namespace sailor::trainer::testing {
namespace {

// What all collectives of a backend share: some thread waits until one of them ends or all are aborted.
struct Progress {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_aborted = false;
};

class NcclLikeWork : public c10d::Work {
 public:
  NcclLikeWork(c10::intrusive_ptr<c10d::Work> sum, std::shared_ptr<Progress> progress, std::exception_ptr error)
      : progress_(std::move(progress)), error_(std::move(error)) {
    std::thread([sum = std::move(sum), end = end_, shared = progress_] {
      const End how = end_of(*sum);
      const std::lock_guard lock(shared->mutex);
      *end = how;
      shared->changed.notify_all();
    }).detach();
  }

  bool wait(std::chrono::milliseconds) override {
    std::unique_lock lock(progress_->mutex);
    progress_->changed.wait(lock, [&] { return is_over_locked(); });
    return true;
  }
  bool isCompleted() override {
    const std::lock_guard lock(progress_->mutex);
    return is_over_locked();
  }
  [[nodiscard]] std::exception_ptr exception() const override { return error_; }

 private:
  enum class End { kNone, kComplete, kFailed };

  static End end_of(c10d::Work& sum) {
    try {
      sum.wait();
      return End::kComplete;
    } catch (const std::exception&) {
      return End::kFailed;
    }
  }

  // Where it was aborted, it waits until the sum no longer writes.
  [[nodiscard]] bool is_over_locked() const {
    if (progress_->is_aborted) return *end_ != End::kNone;
    return *end_ == End::kComplete && !error_;
  }

  std::shared_ptr<Progress> progress_;
  std::shared_ptr<End> end_ = std::make_shared<End>(End::kNone);
  std::exception_ptr error_;
};

class NcclLikeBackend : public c10d::Backend {
 public:
  NcclLikeBackend(const BackendMembership& membership, NcclManners manners)
      : Backend(membership.index, membership.size), membership_(membership), manners_(std::move(manners)) {}
  ~NcclLikeBackend() override { close(); }

  [[nodiscard]] const std::string getBackendName() const override { return "nccl-like"; }

  void eagerConnectSingleDevice(at::Device) override {
    if (manners_.connects_eagerly) (void)connected();
  }

  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override {
    return started([&](c10d::Backend& gloo) { return gloo.allreduce(tensors, options); });
  }
  c10::intrusive_ptr<c10d::Work> _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                      const c10d::ReduceScatterOptions& options) override {
    return started([&](c10d::Backend& gloo) { return gloo._reduce_scatter_base(output, input, options); });
  }
  c10::intrusive_ptr<c10d::Work> _allgather_base(at::Tensor& output, at::Tensor& input,
                                                 const c10d::AllgatherOptions& options) override {
    return started([&](c10d::Backend& gloo) { return gloo._allgather_base(output, input, options); });
  }

  void abort() override {
    close();
    throw c10::DistBackendError({__func__, __FILE__, __LINE__}, "NCCL error: ncclInternalError: aborted");
  }

 private:
  c10d::Backend& connected() {
    constexpr std::chrono::hours kNever{24};
    const std::lock_guard lock(mutex_);
    if (!gloo_) {
      if (manners_.while_connecting) manners_.while_connecting(getRank());
      gloo_ = connect_gloo(membership_, manners_.connect_timeout, make_gloo_device(own_address()));
      gloo_->backend->setTimeout(kNever);
    }
    return *gloo_->backend;
  }

  template <class Start>
  c10::intrusive_ptr<c10d::Work> started(Start start) {
    c10d::Backend& gloo = connected();
    if (manners_.at_collective) manners_.at_collective(getRank());
    return c10::make_intrusive<NcclLikeWork>(start(gloo), progress_,
                                             manners_.error ? manners_.error(getRank()) : nullptr);
  }

  // Closes the connections, so that the sums end.
  void close() {
    const std::lock_guard lock(mutex_);
    if (!gloo_ || std::exchange(is_closed_, true)) return;
    {
      const std::lock_guard progress_lock(progress_->mutex);
      progress_->is_aborted = true;
    }
    gloo_->abort();
    progress_->changed.notify_all();
  }

  BackendMembership membership_;
  NcclManners manners_;
  std::mutex mutex_;
  std::optional<Connection> gloo_;  // set once it is connected
  bool is_closed_ = false;
  std::shared_ptr<Progress> progress_ = std::make_shared<Progress>();
};

}  // namespace

MakeDeviceBackend nccl_like(NcclManners manners) {
  return [manners = std::move(manners)](const BackendMembership& membership) {
    return c10::make_intrusive<NcclLikeBackend>(membership, manners);
  };
}

MakeDeviceBackend collectives_under_test() {
  const char* name = std::getenv("SAILOR_TEST_COLLECTIVES");
  return name != nullptr && std::string_view(name) == "nccl-like" ? nccl_like() : nullptr;
}

}  // namespace sailor::trainer::testing
