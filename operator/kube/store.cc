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

Store::Store(Trim trim) : trim_(std::move(trim)) {}

void Store::on_change(Listener listener) { listener_ = std::move(listener); }

std::optional<Json> Store::trimmed(Json object) const { return trim_ ? trim_(std::move(object)) : std::move(object); }

void Store::tell(const std::vector<Object>& changed) const {
  for (const Object& object : changed) listener_(*object);
}

void Store::replace(std::vector<Json> objects) {
  Objects fresh;
  for (Json& object : objects) {
    auto kept = trimmed(std::move(object));
    if (!kept) continue;
    const JobKey key = key_of(*kept);
    fresh[key] = std::make_shared<const Json>(std::move(*kept));
  }
  std::vector<Object> changed;
  {
    const std::scoped_lock lock(mutex_);
    for (auto& [key, object] : fresh) {
      const auto held = objects_.find(key);
      // The list may be older than an object that the operator has written and put into the store.
      if (held != objects_.end() && is_older(*object, *held->second)) object = held->second;
      if (held == objects_.end() || !is_same(*object, *held->second)) changed.push_back(object);
    }
    for (const auto& [key, object] : objects_) {
      const auto now = fresh.find(key);
      if (now == fresh.end() || !is_same(*now->second, *object)) changed.push_back(object);
    }
    objects_ = std::move(fresh);
    is_synced_ = true;
  }
  tell(changed);
}

void Store::put(Json object) {
  const JobKey key = key_of(object);
  auto kept = trimmed(std::move(object));
  std::vector<Object> changed;
  {
    const std::scoped_lock lock(mutex_);
    const auto held = objects_.find(key);
    if (held != objects_.end()) {
      if (kept && (is_older(*kept, *held->second) || is_same(*kept, *held->second))) return;
      changed.push_back(held->second);
      objects_.erase(held);
    }
    if (kept) changed.push_back(objects_[key] = std::make_shared<const Json>(std::move(*kept)));
  }
  tell(changed);
}

void Store::erase(const Json& object) {
  Object gone;
  {
    const std::scoped_lock lock(mutex_);
    const auto held = objects_.find(key_of(object));
    if (held == objects_.end() || uid_of(*held->second) != uid_of(object)) return;
    gone = held->second;
    objects_.erase(held);
  }
  tell({gone});
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

bool Store::is_synced() const {
  const std::scoped_lock lock(mutex_);
  return is_synced_;
}

}  // namespace sailor::kube
