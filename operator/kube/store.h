// Store: what the operator knows of one kind of objects. Readers get immutable objects and never a half-filled store.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "operator/kube/object.h"

namespace sailor::kube {

class Store {
 public:
  // Keeps of an object what its readers need; nothing: the object is of no interest.
  using Trim = std::function<std::optional<Json>(Json)>;
  // Called without the lock held; once with the old object, and once with the new, of a change.
  using Listener = std::function<void(const Json&)>;

  explicit Store(Trim trim = nullptr);  // without one everything is kept

  void on_change(Listener listener);  // before anything is put

  void replace(std::vector<Json> objects);  // by a complete list: what it lacks is gone
  void put(Json object);                    // an older version than the one held is ignored
  void erase(const Json& object);           // unless another object has taken its name

  [[nodiscard]] Object find(const JobKey& key) const;  // nullptr: none
  [[nodiscard]] std::vector<Object> all() const;       // in the order of their keys
  [[nodiscard]] bool is_synced() const;                // a complete list has been seen

 private:
  using Objects = std::map<JobKey, Object>;
  [[nodiscard]] std::optional<Json> trimmed(Json object) const;
  void tell(const std::vector<Object>& changed) const;

  Trim trim_;
  Listener listener_ = [](const Json&) {};
  mutable std::mutex mutex_;
  Objects objects_;
  bool is_synced_ = false;
};

}  // namespace sailor::kube
