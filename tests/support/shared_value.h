// SharedValue: a value that one thread sets while others read it. It takes the place of std::atomic<std::shared_ptr>,
// which in GCC 12's library is a data race in the eyes of the thread sanitizer.
#pragma once

#include <mutex>
#include <utility>

namespace sailor {

template <class T>
class SharedValue {
 public:
  explicit SharedValue(T value) : value_(std::move(value)) {}

  SharedValue& operator=(T value) {
    const std::scoped_lock lock(mutex_);
    value_ = std::move(value);
    return *this;
  }

  [[nodiscard]] T load() const {
    const std::scoped_lock lock(mutex_);
    return value_;
  }

 private:
  mutable std::mutex mutex_;
  T value_;
};

}  // namespace sailor
