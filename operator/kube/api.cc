#include "operator/kube/api.h"

#include <thread>

#include <fmt/format.h>

#include "operator/kube/line_splitter.h"
#include "operator/kube/parse.h"

namespace sailor::kube {
namespace {

constexpr int kTries = 4;
constexpr int kPage = 500;                           // the largest number of objects in one page of a list
constexpr auto kPatience = std::chrono::seconds(1);  // a request with a longer Retry-After fails at once

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool plain = (std::isalnum(static_cast<unsigned char>(c)) != 0) ||
                       std::string_view("-_.~").find(c) != std::string_view::npos;
    result += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return result;
}

std::string query_of(const Selection& selection) {
  std::string query;
  if (!selection.labels.empty()) query += "&labelSelector=" + escaped(selection.labels);
  if (!selection.fields.empty()) query += "&fieldSelector=" + escaped(selection.fields);
  return query;
}

bool is_write(const HttpRequest& request) { return request.method != "GET"; }

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Returns the error that an ERROR event reports, as if its Status had been the answer to the request.
ApiError error_in_stream(const HttpRequest& request, const Json& status) {
  const auto code = static_cast<int>(integer_at(status, {"code"}));
  return error_of(request, HttpResponse{code == 0 ? 500 : code, status.dump(), std::nullopt});
}

}  // namespace

Api::Api(Transport& transport, ApiHooks hooks) : transport_(transport), hooks_(std::move(hooks)) {
  if (!hooks_.sleep) hooks_.sleep = [](std::chrono::milliseconds time) { std::this_thread::sleep_for(time); };
}

ApiResult<HttpResponse> Api::try_once(const HttpRequest& request) {
  if (is_write(request) && !hooks_.may_write()) {
    return tl::unexpected(
        ApiError{403, kNotLeader, "not the leader any more: " + request.method + " was not sent", {}});
  }
  const auto start = std::chrono::steady_clock::now();
  try {
    HttpResponse response = transport_.send(request);
    hooks_.requested(request.method, response.status, seconds_since(start));
    if (response.status >= 200 && response.status < 300) return response;
    return tl::unexpected(error_of(request, response));
  } catch (const TransportError& error) {
    hooks_.requested(request.method, 0, seconds_since(start));
    return tl::unexpected(ApiError{0,
                                   "NoAnswer",
                                   fmt::format("{} {}: no answer from the API server: {}", request.method,
                                               request.target.substr(0, request.target.find('?')), error.what()),
                                   {}});
  }
}

ApiResult<HttpResponse> Api::exchange(const HttpRequest& request, bool repeatable) {
  Backoff backoff(kRequestBackoff);
  for (int attempt = 1;; ++attempt) {
    auto response = try_once(request);
    if (response || !response.error().is_transient() || attempt == kTries) return response;
    // The server did not carry out a request that it answered with 429, so any such request may be repeated.
    if (!repeatable && response.error().status != 429) return response;
    const auto wait = std::max(response.error().retry_after.value_or(std::chrono::milliseconds(0)), backoff.next());
    if (wait > kPatience) return response;
    hooks_.sleep(wait);
  }
}

ApiResult<Json> Api::parsed(const HttpRequest& request, bool repeatable) {
  auto response = exchange(request, repeatable);
  if (!response) return tl::unexpected(std::move(response).error());
  Json json = parse(response->body, false);
  if (json.is_object()) return json;
  return tl::unexpected(
      ApiError{0, "HalfAnswer", request.method + " " + request.target + ": the answer is not a JSON object", {}});
}

ApiResult<Json> Api::get(const Resource& resource, const JobKey& key) {
  return parsed({"GET", object_path(resource, key.namespace_name, key.name), "", ""}, true);
}

ApiResult<ObjectList> Api::list(const Resource& resource, const Selection& selection, const Trim& trim) {
  ObjectList list;
  std::string next;
  do {
    std::string target =
        fmt::format("{}?limit={}{}", collection_path(resource, selection.namespace_name), kPage, query_of(selection));
    if (!next.empty()) target += "&continue=" + escaped(next);
    auto page = parsed({"GET", target, "", ""}, true);
    if (!page) return tl::unexpected(std::move(page).error());
    // The items of a list have no kind and no apiVersion, which the readers of a store expect.
    for (Json& item : (*page)["items"]) {
      item["kind"] = resource.kind;
      item["apiVersion"] = resource.group_version;
      if (auto kept = trim(std::move(item))) list.items.push_back(*std::move(kept));
    }
    list.version = version_of(*page);
    next = text_at(*page, {"metadata", "continue"});
  } while (!next.empty());
  return list;
}

ApiResult<Json> Api::patch(const std::string& path, const Json& object) {
  const std::string target = fmt::format("{}?fieldManager={}&force=true", path, kFieldManager);
  return parsed({"PATCH", target, object.dump(), "application/apply-patch+yaml"}, true);
}

ApiResult<Json> Api::apply(const Resource& resource, const Json& object) {
  return patch(object_path(resource, namespace_of(object), name_of(object)), object);
}

ApiResult<Json> Api::apply_status(const Resource& resource, const Json& object) {
  return patch(object_path(resource, namespace_of(object), name_of(object)) + "/status", object);
}

ApiResult<Json> Api::merge(const Resource& resource, const Json& object) {
  const std::string path = object_path(resource, namespace_of(object), name_of(object));
  return parsed(
      {"PATCH", fmt::format("{}?fieldManager={}", path, kFieldManager), object.dump(), "application/merge-patch+json"},
      true);
}

ApiResult<Json> Api::create(const Resource& resource, const Json& object) {
  const std::string target = fmt::format("{}?fieldManager={}&fieldValidation=Strict",
                                         collection_path(resource, namespace_of(object)), kFieldManager);
  return parsed({"POST", target, object.dump(), "application/json"}, false);
}

ApiResult<Json> Api::put(const std::string& path, const Json& object) {
  const std::string target = fmt::format("{}?fieldManager={}", path, kFieldManager);
  return parsed({"PUT", target, object.dump(), "application/json"}, false);
}

ApiResult<Json> Api::replace(const Resource& resource, const Json& object) {
  return put(object_path(resource, namespace_of(object), name_of(object)), object);
}

ApiResult<Json> Api::replace_status(const Resource& resource, const Json& object) {
  return put(object_path(resource, namespace_of(object), name_of(object)) + "/status", object);
}

ApiResult<void> Api::remove(const Resource& resource, const JobKey& key, const std::string& uid) {
  Json options = {{"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"propagationPolicy", "Background"}};
  if (!uid.empty()) options["preconditions"] = {{"uid", uid}};
  auto response = exchange(
      {"DELETE", object_path(resource, key.namespace_name, key.name), options.dump(), "application/json"}, true);
  // A conflict here means that the object of this UID is gone and another one has taken its name.
  if (response || response.error().is_not_found() || response.error().is_conflict()) return {};
  return tl::unexpected(std::move(response).error());
}

ApiResult<void> Api::watch(const Resource& resource, const Selection& selection, const WatchSpan& span,
                           const std::function<void(WatchEvent)>& sink, std::stop_token stop) {
  const HttpRequest request{"GET",
                            fmt::format("{}?watch=true&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={}{}",
                                        collection_path(resource, selection.namespace_name), escaped(span.version),
                                        span.duration.count(), query_of(selection)),
                            "", ""};
  LineSplitter splitter;
  std::optional<ApiError> failure;
  const auto take_line = [&](std::string_view line) {
    WatchEvent event = parse_watch_event(line);
    if (event.type == WatchEvent::Type::kError) failure = error_in_stream(request, event.object);
    if (!failure) sink(std::move(event));
  };
  try {
    const HttpResponse response = transport_.stream(
        request, [&](std::string_view chunk) { splitter.feed(chunk, take_line); }, stop);
    hooks_.requested("WATCH", response.status, 0);
    if (response.status != 200) return tl::unexpected(error_of(request, response));
  } catch (const std::exception& error) {  // a broken connection, or a line that is not an event
    hooks_.requested("WATCH", 0, 0);
    if (!failure)
      return tl::unexpected(ApiError{0, "NoAnswer", fmt::format("watching {}: {}", resource.plural, error.what()), {}});
  }
  if (failure) return tl::unexpected(*failure);
  return {};
}

}  // namespace sailor::kube
