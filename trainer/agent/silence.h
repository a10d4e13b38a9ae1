// Silence: how many questions in a row somebody has left without an answer.
#pragma once

#include <chrono>

namespace sailor::trainer {

// Questions are counted, not seconds: who gets no processor time asks none, and so takes nobody else for silent.
class Silence {
 public:
  static constexpr int kLimit = 5;

  // How often to ask, so that whoever is silent for this long is noticed then.
  static std::chrono::milliseconds period_of(std::chrono::milliseconds timeout) { return timeout / kLimit; }

  void note(bool is_answered) { unanswered_ = is_answered ? 0 : unanswered_ + 1; }
  [[nodiscard]] bool is_over_limit() const { return unanswered_ >= kLimit; }

 private:
  int unanswered_ = 0;
};

}  // namespace sailor::trainer
