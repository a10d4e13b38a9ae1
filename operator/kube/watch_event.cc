#include "operator/kube/watch_event.h"

#include "operator/kube/parse.h"

namespace sailor::kube {
namespace {

WatchEvent::Type type_of(const std::string& name) {
  if (name == "ADDED" || name == "MODIFIED") return WatchEvent::Type::kPut;
  if (name == "DELETED") return WatchEvent::Type::kDeleted;
  if (name == "BOOKMARK") return WatchEvent::Type::kBookmark;
  if (name == "ERROR") return WatchEvent::Type::kError;
  return WatchEvent::Type::kUnknown;
}

}  // namespace

WatchEvent parse_watch_event(std::string_view line) {
  Json event = parse(line);
  WatchEvent parsed;
  parsed.type = type_of(event.at("type").get<std::string>());
  parsed.object = std::move(event.at("object"));
  return parsed;
}

}  // namespace sailor::kube
