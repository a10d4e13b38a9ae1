// Preparations: the preparation of the newest generation that a worker knows, and abandoned older preparations whose
// threads have not ended yet.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "trainer/elastic/preparation/preparation.h"

namespace sailor::trainer {

class Preparations {
 public:
  explicit Preparations(PreparingWorker worker) : worker_(std::move(worker)) {}

  // Starts to prepare this generation, unless it or a newer one has started already. Abandons older preparations. Any
  // thread may call it; the other functions belong to the worker loop.
  void begin(const std::shared_ptr<const Assignment>& assignment, const PreparationReport& preparation_report);
  void abandon();        // abandons the newest preparation, whose thread then ends soon
  void destroy_ended();  // destroys abandoned preparations that have ended

  [[nodiscard]] bool is_over(std::int64_t generation) const;  // done or failed

  // These two functions use the preparation of this generation. take() returns nothing, and delays_switch() false, if a
  // newer one has replaced it. delays_switch() returns true if it has not begun yet.
  std::optional<Prepared> take(std::int64_t generation);
  [[nodiscard]] bool delays_switch(std::int64_t generation) const;

 private:
  void abandon_locked();
  [[nodiscard]] std::shared_ptr<Preparation> of(std::int64_t generation) const;  // null: replaced

  const PreparingWorker worker_;
  mutable std::mutex mutex_;
  std::int64_t newest_generation_ = 0;
  std::shared_ptr<Preparation> newest_;  // shared, so that one thread may wait for it while another abandons it
  std::vector<std::shared_ptr<Preparation>> abandoned_;
};

}  // namespace sailor::trainer
