// Store: a thread-safe copy of the API server's objects of one kind. The objects that readers get never change, and a
// complete list replaces the content at once, so readers never see a part of a list.
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
  // Returns the part of an object that its readers need, or nothing if the store does not keep the object.
  using Trim = std::function<std::optional<Json>(Json)>;
  // The store calls the listener after each change: once with the old object and once with the new one. An object that
  // was added or deleted causes one call. The listener may use the store, because the store holds no lock meanwhile.
  using Listener = std::function<void(const Json&)>;

  explicit Store(Trim trim = nullptr);  // without `trim`, the store keeps all objects entirely

  void on_change(Listener listener);  // call it before the first object is put

  void replace(std::vector<Json> objects);  // `objects` is a complete list; the objects that it lacks are dropped
  void put(Json object);                    // ignores an object that is older than the stored one
  void erase(const Json& object);           // ignores an object if the stored one of its name has another UID

  // An object is found by its namespace and name; JobKey serves as the key of every kind.
  [[nodiscard]] Object find(const JobKey& key) const;  // null: the store has no such object
  [[nodiscard]] std::vector<Object> all() const;       // in ascending order of keys
  [[nodiscard]] bool is_synced() const;                // returns whether the store has received a complete list

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
