// TensorMemory: how many bytes of tensors this thread has allocated and not freed, on the CPU, while the object lives.
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

  [[nodiscard]] std::int64_t held() const;  // now; negative where more was freed than allocated meanwhile
  [[nodiscard]] std::int64_t peak() const;  // the most at any moment since the object or the last call of forget_peak
  void forget_peak();

 private:
  struct Counter;
  struct Guard;
  std::shared_ptr<Counter> counter_;
  std::unique_ptr<Guard> guard_;
};

}  // namespace sailor::trainer
