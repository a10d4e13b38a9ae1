#include "operator/kube/store.h"

#include <cstdint>

#include "core/model/parse_number.h"

namespace sailor::kube {
namespace {

// Compares the resource versions of two states of one object. Compares only numbers, such as those of etcd.
bool is_older(const Json& object, const Json& held) {
  const auto left = parse_number<std::uint64_t>(version_of(object));
  const auto right = parse_number<std::uint64_t>(version_of(held));
  return uid_of(object) == uid_of(held) && left && right && *left < *right;
}

bool is_same(const Json& object, const Json& held) {
  return uid_of(object) == uid_of(held) && version_of(object) == version_of(held);
}

}  // namespace

Store::Store(Trim trim, Tags tags) : trim_(std::move(trim)), tags_(std::move(tags)) {}

void Store::on_change(Listener listener) { listeners_.push_back(std::move(listener)); }

void Store::expect_lists_of(const std::vector<std::string>& namespaces) {
  const std::scoped_lock lock(mutex_);
  missing_lists_ = {namespaces.begin(), namespaces.end()};
}

std::optional<Json> Store::trimmed(Json object) const { return trim_ ? trim_(std::move(object)) : std::move(object); }

void Store::tell(const std::vector<Change>& changes) const {
  for (const Change& change : changes) {
    for (const Listener& listener : listeners_) listener(change.before.get(), change.now.get());
  }
}

void Store::index(const JobKey& key, const Object& before, const Object& now) {
  if (!tags_) return;
  for (const std::string& tag : before == nullptr ? std::vector<std::string>() : tags_(*before)) {
    const auto keys = keys_by_tag_.find(tag);
    if (keys == keys_by_tag_.end()) continue;
    keys->second.erase(key);
    if (keys->second.empty()) keys_by_tag_.erase(keys);
  }
  for (const std::string& tag : now == nullptr ? std::vector<std::string>() : tags_(*now))
    keys_by_tag_[tag].insert(key);
}

void Store::replace(std::vector<Json> objects, const std::string& namespace_name) {
  Objects fresh;
  for (Json& object : objects) {
    auto kept = trimmed(std::move(object));
    if (!kept) continue;
    const JobKey key = key_of(*kept);
    fresh[key] = std::make_shared<const Json>(std::move(*kept));
  }
  std::vector<Change> changes;
  {
    const std::scoped_lock lock(mutex_);
    for (auto& [key, object] : fresh) {
      const auto held = objects_.find(key);
      const Object before = held == objects_.end() ? nullptr : held->second;
      // The list may be older than an object that the operator has written and put into the store.
      if (before != nullptr && is_older(*object, *before)) object = before;
      if (before == nullptr || !is_same(*object, *before)) changes.push_back({before, object});
    }
    for (auto& [key, object] : objects_) {
      const bool is_listed = namespace_name.empty() || key.namespace_name == namespace_name;
      if (!is_listed) {
        fresh[key] = object;
      } else if (!fresh.contains(key)) {
        changes.push_back({object, nullptr});
      }
    }
    for (const Change& change : changes) {
      index(key_of(change.now != nullptr ? *change.now : *change.before), change.before, change.now);
    }
    objects_ = std::move(fresh);
    missing_lists_.erase(namespace_name);
  }
  tell(changes);
}

void Store::put(Json object) {
  const JobKey key = key_of(object);
  auto kept = trimmed(std::move(object));
  Change change;
  {
    const std::scoped_lock lock(mutex_);
    const auto held = objects_.find(key);
    if (held != objects_.end()) {
      if (kept && (is_older(*kept, *held->second) || is_same(*kept, *held->second))) return;
      change.before = held->second;
      objects_.erase(held);
    }
    if (kept) change.now = objects_[key] = std::make_shared<const Json>(std::move(*kept));
    index(key, change.before, change.now);
  }
  if (change.before != nullptr || change.now != nullptr) tell({change});
}

void Store::erase(const Json& object) {
  Object gone;
  {
    const std::scoped_lock lock(mutex_);
    const auto held = objects_.find(key_of(object));
    if (held == objects_.end() || uid_of(*held->second) != uid_of(object)) return;
    gone = held->second;
    index(held->first, gone, nullptr);
    objects_.erase(held);
  }
  tell({{gone, nullptr}});
}

Object Store::find(const JobKey& key) const {
  const std::scoped_lock lock(mutex_);
  const auto found = objects_.find(key);
  return found == objects_.end() ? nullptr : found->second;
}

std::vector<Object> Store::all() const {
  const std::scoped_lock lock(mutex_);
  std::vector<Object> objects;
  objects.reserve(objects_.size());
  for (const auto& [key, object] : objects_) objects.push_back(object);
  return objects;
}

std::vector<Object> Store::tagged(const std::string& tag) const {
  const std::scoped_lock lock(mutex_);
  std::vector<Object> objects;
  const auto keys = keys_by_tag_.find(tag);
  if (keys == keys_by_tag_.end()) return objects;
  for (const JobKey& key : keys->second) objects.push_back(objects_.at(key));
  return objects;
}

bool Store::is_synced() const {
  const std::scoped_lock lock(mutex_);
  return missing_lists_.empty();
}

}  // namespace sailor::kube
