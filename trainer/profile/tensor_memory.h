// TensorMemory: counts the bytes of tensors on the compute device that this thread allocates and frees while the object
// lives.
#pragma once

#include <cstdint>
#include <memory>

namespace sailor::trainer {

class TensorMemory {
 public:
  TensorMemory();
  ~TensorMemory();
  TensorMemory(const TensorMemory&) = delete;
  TensorMemory& operator=(const TensorMemory&) = delete;

  [[nodiscard]] std::int64_t allocated() const;  // bytes in use now; negative if more was freed than allocated
  [[nodiscard]] std::int64_t peak() const;       // the maximum of allocated()

 private:
  struct Counter;
  struct Guard;
  std::shared_ptr<Counter> counter_;
  std::unique_ptr<Guard> guard_;
};

}  // namespace sailor::trainer
