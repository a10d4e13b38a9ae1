#include "tests/operator/fake_api.h"

#include <fmt/format.h>

namespace sailor::testing {
namespace {

HttpResponse refusal(int code, const std::string& reason) {
  const Json status = {{"kind", "Status"}, {"code", code}, {"reason", reason}, {"message", "refused: " + reason}};
  return {code, status.dump(), std::nullopt};
}

std::string plural_of(const std::string& path) {
  const std::string collection = path.substr(0, path.rfind('/'));
  return collection.substr(collection.rfind('/') + 1);
}

void merge(Json& base, const Json& patch) {
  for (const auto& [key, value] : patch.items()) {
    if (value.is_object() && base.contains(key) && base[key].is_object()) {
      merge(base[key], value);
    } else {
      base[key] = value;
    }
  }
}

// A write of the main resource leaves the status as it is, and a write of the status the rest.
Json with_status_of(const Json& status, const Json& rest) {
  Json object = rest;
  object.erase("status");
  if (status.contains("status")) object["status"] = status["status"];
  return object;
}

}  // namespace

HttpResponse FakeApi::store(const std::string& path, Json object) {
  object["metadata"]["resourceVersion"] = std::to_string(++version_);
  if (!object["metadata"].contains("uid")) object["metadata"]["uid"] = fmt::format("uid-{}", version_);
  objects_[path] = object;
  return {200, object.dump(), std::nullopt};
}

Json FakeApi::put(const std::string& collection, Json object) {
  const std::string path = collection + "/" + kube::name_of(object);
  store(path, std::move(object));
  return objects_.at(path);
}

void FakeApi::erase(const std::string& collection, const std::string& name) { objects_.erase(collection + "/" + name); }

std::vector<Json> FakeApi::all(const std::string& plural) const {
  std::vector<Json> found;
  for (const auto& [path, object] : objects_) {
    if (plural_of(path) == plural) found.push_back(object);
  }
  return found;
}

Json FakeApi::find(const std::string& plural, const std::string& name) const {
  for (const Json& object : all(plural)) {
    if (kube::name_of(object) == name) return object;
  }
  return {};
}

HttpResponse FakeApi::apply(const std::string& path, const Json& body, bool is_status, bool& is_change) {
  const auto held = objects_.find(path);
  if (held == objects_.end()) return is_status ? refusal(404, "NotFound") : store(path, body);
  for (const char* precondition : {"uid", "resourceVersion"}) {
    const std::string wanted = kube::text_at(body, {"metadata", precondition});
    if (!wanted.empty() && wanted != kube::text_at(held->second, {"metadata", precondition}))
      return refusal(409, "Conflict");
  }
  Json next = held->second;
  if (is_status) {
    next["status"] = body.at("status");
  } else {
    // The operator is the only manager of these fields, and applies them as a whole.
    for (const char* field : {"spec", "data"}) next.erase(field);
    merge(next, body);
  }
  is_change = next != held->second;
  if (!is_change) return {200, next.dump(), std::nullopt};
  return store(path, std::move(next));
}

HttpResponse FakeApi::merge_patch(const std::string& path, const Json& body) {
  const auto held = objects_.find(path);
  if (held == objects_.end()) return refusal(404, "NotFound");
  Json next = held->second;
  next.merge_patch(body);
  return store(path, std::move(next));
}

HttpResponse FakeApi::carry_out(const HttpRequest& request, const std::string& path, bool& is_change) {
  const Json body = request.body.empty() ? Json() : Json::parse(request.body);
  is_change = true;
  const auto refused = refusals.find(request.method == "POST" ? path.substr(path.rfind('/') + 1) : plural_of(path));
  if (refused != refusals.end() && (request.method == "POST" || request.method == "PATCH")) return refused->second;
  if (request.method == "POST") {
    const std::string name = path + "/" + kube::name_of(body);
    if (objects_.contains(name)) return refusal(409, "AlreadyExists");
    HttpResponse stored = store(name, body);
    stored.status = 201;
    return stored;
  }
  const bool is_status = path.ends_with("/status");
  const std::string object = is_status ? path.substr(0, path.size() - std::string_view("/status").size()) : path;
  if (request.content_type == "application/merge-patch+json") return merge_patch(object, body);
  if (request.method == "PATCH") return apply(object, body, is_status, is_change);
  const auto held = objects_.find(object);
  if (held == objects_.end()) return refusal(404, "NotFound");
  if (request.method == "PUT") {
    if (kube::version_of(body) != kube::version_of(held->second)) return refusal(409, "Conflict");
    return store(object, is_status ? with_status_of(body, held->second) : with_status_of(held->second, body));
  }
  const std::string uid = kube::text_at(body, {"preconditions", "uid"});
  if (!uid.empty() && uid != kube::uid_of(held->second)) return refusal(409, "Conflict");
  if (dead_nodes.contains(kube::text_at(held->second, {"spec", "nodeName"}))) {
    held->second["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  } else {
    objects_.erase(held);
  }
  return {200, "{}", std::nullopt};
}

HttpResponse FakeApi::send(const HttpRequest& request) {
  const std::string path = request.target.substr(0, request.target.find('?'));
  requests.push_back(request.method + " " + path);
  if (!next_answers.empty()) {
    HttpResponse answer = next_answers.front();
    next_answers.pop_front();
    return answer;
  }
  if (request.method == "GET") {
    const auto held = objects_.find(path);
    if (held != objects_.end()) return {200, held->second.dump(), std::nullopt};
    Json list = {{"metadata", {{"resourceVersion", std::to_string(version_)}}}, {"items", Json::array()}};
    const std::string plural = path.substr(path.rfind('/') + 1);
    if (request.target.find("?limit=") == std::string::npos) return refusal(404, "NotFound");
    for (Json& object : all(plural)) list["items"].push_back(std::move(object));
    return {200, list.dump(), std::nullopt};
  }
  const bool is_last = crash_at_write == 0;
  if (crash_at_write >= 0) --crash_at_write;
  if (is_last && !crash_after_commit) throw Crash();
  bool is_change = false;
  const HttpResponse response = carry_out(request, path, is_change);
  if (response.status < 300) ++writes;
  if (is_last) throw Crash();
  return response;
}

HttpResponse FakeApi::stream(const HttpRequest& request, const kube::ChunkSink& sink, std::stop_token) {
  requests.push_back("WATCH " + request.target.substr(0, request.target.find('?')));
  if (watch_status != 200) return refusal(watch_status, watch_status == 410 ? "Expired" : "Unavailable");
  constexpr std::size_t kPiece = 7;  // so the ends of lines and of chunks differ
  for (std::size_t at = 0; at < watch_text.size(); at += kPiece) sink(std::string_view(watch_text).substr(at, kPiece));
  return {200, "", std::nullopt};
}

}  // namespace sailor::testing
