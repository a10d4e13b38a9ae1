// Store: a thread-safe copy of the API server's objects of one kind, of all namespaces or of some. The objects that
// readers get never change, and a complete list of a namespace replaces its content at once, so readers never see a
// part of a list.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "operator/kube/object.h"

namespace sailor::kube {

class Store {
 public:
  // Returns the part of an object that its readers need, or nothing if the store does not keep the object. To trim an
  // object twice must be the same as to trim it once.
  using Trim = std::function<std::optional<Json>(Json)>;
  // The store calls its listeners after each change, with the object before and after it: `before` is null if the
  // object was added, `now` if it was deleted. A listener may use the store, because the store holds no lock meanwhile.
  using Listener = std::function<void(const Json* before, const Json* now)>;

  // Returns the tags by which readers look for an object, such as its node.
  using Tags = std::function<std::vector<std::string>(const Json&)>;

  // Without `trim`, the store keeps all objects entirely.
  explicit Store(Trim trim = nullptr, Tags tags = nullptr);

  // Adds a listener. They are called in the order in which they were added. Call it before the first object is put.
  void on_change(Listener listener);
  // The store gets a list of each of these namespaces, instead of one list of all. Call it before the first list.
  void expect_lists_of(const std::vector<std::string>& namespaces);

  // `objects` is a complete list of a namespace, or of all if `namespace_name` is empty; what it lacks is dropped.
  void replace(std::vector<Json> objects, const std::string& namespace_name = "");
  void put(Json object);           // ignores an object that is older than the stored one
  void erase(const Json& object);  // ignores an object if the stored one of its name has another UID

  // An object is found by its namespace and name; JobKey serves as the key of every kind.
  [[nodiscard]] Object find(const JobKey& key) const;                      // null: the store has no such object
  [[nodiscard]] std::vector<Object> all() const;                           // in ascending order of keys
  [[nodiscard]] std::vector<Object> tagged(const std::string& tag) const;  // in ascending order of keys
  [[nodiscard]] std::optional<Json> trimmed(Json object) const;            // any thread may call it
  [[nodiscard]] bool is_synced() const;  // returns whether the store has received all lists

 private:
  using Objects = std::map<JobKey, Object>;
  struct Change {
    Object before;
    Object now;
  };
  void tell(const std::vector<Change>& changes) const;

  void index(const JobKey& key, const Object& before, const Object& now);

  Trim trim_;
  Tags tags_;
  std::vector<Listener> listeners_;
  mutable std::mutex mutex_;
  Objects objects_;
  std::map<std::string, std::set<JobKey>> keys_by_tag_;
  std::set<std::string> missing_lists_{""};  // the namespaces of which no list has come yet
};

}  // namespace sailor::kube
