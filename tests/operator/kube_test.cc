// The API client: lines, errors, retries, the store, the reflector, times.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/kube/line_splitter.h"
#include "operator/kube/reflector.h"
#include "operator/kube/time.h"
#include "operator/kube/watch_event.h"
#include "operator/model/cluster_view.h"
#include "operator/model/names.h"
#include "operator/reconcile/observe/caches.h"
#include "operator/reconcile/work_queue.h"
#include "tests/operator/fake_api.h"

namespace sailor::kube {
namespace {

using sailor::testing::FakeApi;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr const char* kPodPath = "/api/v1/namespaces/default/pods";

Json pod(const std::string& name, const std::string& version, const std::string& uid) {
  return {{"metadata", {{"name", name}, {"namespace", "default"}, {"uid", uid}, {"resourceVersion", version}}}};
}

ApiHooks quick() {
  ApiHooks hooks;
  hooks.sleep = [](std::chrono::milliseconds) {};
  return hooks;
}

TEST(LineSplitter, FindsLinesWhereverTheChunksEnd) {
  const std::string text = "one\r\n\ntwo\nthree";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    LineSplitter splitter;
    std::vector<std::string> lines;
    const auto sink = [&](std::string_view line) { lines.emplace_back(line); };
    splitter.feed(text.substr(0, cut), sink);
    splitter.feed(text.substr(cut), sink);
    EXPECT_THAT(lines, ElementsAre("one", "two")) << "cut at " << cut;
    splitter.feed("\n", sink);
    EXPECT_THAT(lines, ElementsAre("one", "two", "three")) << "cut at " << cut;
  }
}

TEST(LineSplitter, RefusesALineWithoutEnd) {
  LineSplitter splitter(10);
  EXPECT_THROW(splitter.feed("0123456789a", [](std::string_view) {}), LineTooLong);
}

TEST(Times, ReadBackAsWritten) {
  const Time time = *parse_rfc3339("2026-02-28T23:59:58.250Z");
  EXPECT_EQ(to_rfc3339(time), "2026-02-28T23:59:58Z");
  EXPECT_EQ(parse_rfc3339(to_rfc3339_micro(time)), time);
  EXPECT_EQ(parse_rfc3339("2026-03-01T01:59:58.25+02:00"), time);
  EXPECT_FALSE(parse_rfc3339("2026-02-30T00:00:00Z").has_value());
  EXPECT_FALSE(parse_rfc3339("soon").has_value());
}

TEST(Api, RepeatsWhatIsHarmlessAfterA503AndGivesUpInTheEnd) {
  FakeApi server;
  Api api(server, quick());
  server.put(kPodPath, pod("a", "1", "u"));
  server.next_answers = {{503, "", std::nullopt}, {500, "", std::nullopt}};
  EXPECT_TRUE(api.get(kPods, {"default", "a"}).has_value());
  EXPECT_THAT(server.requests, SizeIs(3));
  server.next_answers.assign(10, {503, "", std::nullopt});
  EXPECT_EQ(api.get(kPods, {"default", "a"}).error().status, 503);
}

TEST(Api, DoesNotRepeatACreateThatMayHaveBeenDone) {
  FakeApi server;
  Api api(server, quick());
  server.next_answers = {{500, "", std::nullopt}};
  EXPECT_FALSE(api.create(kPods, pod("a", "", "")).has_value());
  EXPECT_THAT(server.requests, SizeIs(1));
  server.next_answers = {{429, "", std::chrono::seconds(1)}};
  EXPECT_TRUE(api.create(kPods, pod("b", "", "")).has_value()) << "a 429 was not carried out";
}

TEST(Api, TellsAConflictFromAnExistingObject) {
  FakeApi server;
  Api api(server, quick());
  server.put(kPodPath, pod("a", "1", "u"));
  EXPECT_TRUE(api.create(kPods, pod("a", "", "")).error().already_exists());
  EXPECT_THAT(api.create(kPods, pod("a", "", "")).error().message, HasSubstr("POST /api/v1/namespaces/default/pods"));
}

TEST(Api, DeletesOnlyTheObjectThatWasMeant) {
  FakeApi server;
  Api api(server, quick());
  server.put(kPodPath, pod("a", "1", "new"));
  EXPECT_TRUE(api.remove(kPods, {"default", "a"}, "old").has_value());
  EXPECT_FALSE(server.find("pods", "a").is_null()) << "another pod has taken the name";
  EXPECT_TRUE(api.remove(kPods, {"default", "a"}, "new").has_value());
  EXPECT_TRUE(api.remove(kPods, {"default", "a"}, "new").has_value()) << "gone already is as good";
}

// The operator does not read them, and they may be longer than the rest of the object.
TEST(Api, LeavesOutTheManagedFieldsOfAllThatTheServerSends) {
  FakeApi server;
  Api api(server, quick());
  Json object = pod("a", "1", "u");
  object["metadata"]["managedFields"] = {{{"manager", "kubelet"}, {"fieldsV1", {{"f:metadata", Json::object()}}}}};
  const Json stored = server.put(kPodPath, object);
  Json expected = stored;
  expected["metadata"].erase("managedFields");
  ASSERT_NE(stored, expected);
  EXPECT_EQ(api.get(kPods, {"default", "a"}).value(), expected);
  EXPECT_EQ(parse_watch_event(Json{{"type", "ADDED"}, {"object", stored}}.dump()).object, expected);
}

TEST(Api, WritesNothingOnceItMayNot) {
  FakeApi server;
  ApiHooks hooks = quick();
  hooks.may_write = [] { return false; };
  Api api(server, hooks);
  EXPECT_FALSE(api.create(kPods, pod("a", "", "")).has_value());
  EXPECT_TRUE(server.requests.empty());
}

TEST(Store, ReplaceIsAtomicAndTellsWhatIsGone) {
  Store store;
  std::vector<std::string> changed;
  store.on_change([&](const Json* before, const Json* now) {
    changed.push_back(fmt::format("{} {}", name_of(now != nullptr ? *now : *before), now != nullptr ? "is" : "was"));
  });
  store.replace({pod("a", "1", "ua"), pod("b", "1", "ub")});
  EXPECT_TRUE(store.is_synced());
  EXPECT_THAT(store.all(), SizeIs(2));
  changed.clear();
  store.replace({pod("b", "1", "ub")});
  EXPECT_THAT(changed, ElementsAre("a was"));
  EXPECT_EQ(store.find({"default", "a"}), nullptr);
}

TEST(Store, ObjectsAreFoundByTheirTags) {
  Store store(nullptr, [](const Json& object) { return std::vector<std::string>{text_at(object, {"node"})}; });
  const auto on = [&](const std::string& node) {
    std::vector<std::string> names;
    for (const Object& object : store.tagged(node)) names.push_back(name_of(*object));
    return names;
  };
  const auto placed = [](const std::string& name, const std::string& version, const std::string& node) {
    Json object = pod(name, version, "u" + name);
    object["node"] = node;
    return object;
  };
  store.replace({placed("a", "1", "x"), placed("b", "1", "x"), placed("c", "1", "y")});
  EXPECT_THAT(on("x"), ElementsAre("a", "b"));
  store.put(placed("a", "2", "y"));
  EXPECT_THAT(on("x"), ElementsAre("b"));
  EXPECT_THAT(on("y"), ElementsAre("a", "c"));
  store.erase(placed("c", "1", "y"));
  EXPECT_THAT(on("y"), ElementsAre("a"));
  store.replace({placed("b", "2", "z")});
  EXPECT_THAT(on("x"), SizeIs(0));
  EXPECT_THAT(on("y"), SizeIs(0));
  EXPECT_THAT(on("z"), ElementsAre("b"));
}

TEST(Store, AnOldEventDoesNotUndoOurOwnWrite) {
  Store store;
  store.put(pod("a", "10", "u"));
  store.put(pod("a", "9", "u"));
  EXPECT_EQ(version_of(*store.find({"default", "a"})), "10");
  store.put(pod("a", "3", "another"));
  EXPECT_EQ(uid_of(*store.find({"default", "a"})), "another");
}

std::string line(const std::string& type, const Json& object) {
  return Json{{"type", type}, {"object", object}}.dump() + "\n";
}

TEST(Reflector, FollowsAWatchAndGoesOnFromItsBookmark) {
  FakeApi server;
  Api api(server, quick());
  Store store;
  server.put(kPodPath, pod("a", "", "ua"));
  Reflector reflector(api, kPods, {}, store);
  server.watch_text = line("ADDED", pod("b", "200", "ub")) + line("NEWS", pod("x", "1", "x")) +
                      line("DELETED", pod("a", "201", kube::uid_of(server.find("pods", "a")))) +
                      line("BOOKMARK", pod("", "250", ""));
  EXPECT_TRUE(reflector.run_once({}));
  EXPECT_EQ(store.find({"default", "a"}), nullptr);
  EXPECT_NE(store.find({"default", "b"}), nullptr);
  server.watch_text.clear();
  reflector.run_once({});
  EXPECT_EQ(std::ranges::count(server.requests, "GET /api/v1/pods"), 1) << "listed once, watched twice";
}

TEST(Reflector, ListsAnewWhenItsPlaceInHistoryIsForgotten) {
  FakeApi server;
  Api api(server, quick());
  Store store;
  Reflector reflector(api, kPods, {}, store);
  reflector.run_once({});
  server.put(kPodPath, pod("late", "", "u"));
  server.watch_text = line("ERROR", {{"kind", "Status"}, {"code", 410}, {"reason", "Expired"}, {"message", "too old"}});
  reflector.run_once({});
  server.watch_text.clear();
  reflector.run_once({});
  EXPECT_NE(store.find({"default", "late"}), nullptr);
}

TEST(Reflector, KeepsWhatItHasWhenTheServerIsAway) {
  FakeApi server;
  Api api(server, quick());
  Store store;
  server.put(kPodPath, pod("a", "", "u"));
  Reflector reflector(api, kPods, {}, store);
  server.watch_text = "{\"type\": \"ADD";  // the connection broke in the middle of a line
  reflector.run_once({});
  server.watch_status = 503;
  EXPECT_FALSE(reflector.run_once({}));
  EXPECT_NE(store.find({"default", "a"}), nullptr);
}

Json gpu_pod(const std::string& namespace_name, const std::string& name, bool is_of_a_job) {
  Json pod = {
      {"metadata", {{"name", name}, {"namespace", namespace_name}, {"uid", name}}},
      {"spec",
       {{"nodeName", "a"}, {"containers", Json::array({{{"resources", {{"limits", {{kGpuResource, "2"}}}}}}})}}}};
  if (is_of_a_job) pod["metadata"]["labels"] = {{kJobNameLabel, "job"}, {kJobUidLabel, "uid"}};
  return pod;
}

TEST(Store, ListOfANamespaceReplacesTheObjectsOfThisNamespaceOnly) {
  Store store;
  store.expect_lists_of({"team", "other"});
  const auto job = [](const std::string& namespace_name, const std::string& name) {
    return Json{{"metadata", {{"name", name}, {"namespace", namespace_name}, {"uid", namespace_name + name}}}};
  };
  store.replace({job("team", "a"), job("team", "b")}, "team");
  EXPECT_FALSE(store.is_synced()) << "a list is missing";
  store.replace({job("other", "a")}, "other");
  EXPECT_TRUE(store.is_synced());

  std::vector<std::string> changes;
  store.on_change([&](const Json* before, const Json* now) {
    changes.push_back((now == nullptr ? "-" : "+") + to_string(key_of(now == nullptr ? *before : *now)));
  });
  store.replace({job("team", "b"), job("team", "c")}, "team");
  EXPECT_THAT(changes, UnorderedElementsAre("-team/a", "+team/c"));
  EXPECT_NE(store.find({"other", "a"}), nullptr);
  store.replace({}, "other");
  EXPECT_EQ(store.all().size(), 2);
}

TEST(Caches, OfSomeNamespacesHoldTheGpusThatJobsElsewhereUse) {
  Caches caches({"team", "second"});
  caches.foreign_pods.replace({gpu_pod("team", "own", true), gpu_pod("team", "notebook", false),
                               gpu_pod("second", "own", true), gpu_pod("other", "of-another-release", true),
                               gpu_pod("other", "batch", false)});
  std::vector<std::string> names;
  for (const Object& pod : caches.foreign_pods.all()) {
    EXPECT_EQ(gpus_of_pod(*pod), 2);
    names.push_back(name_of(*pod));
  }
  EXPECT_THAT(names, ElementsAre("batch", "of-another-release", "notebook"));
}

TEST(Caches, KeepTheIdentityOfANodeWithoutAnAccelerator) {
  Caches caches;
  const Json spec = {{"providerID", "aws:///us-east-1a/i-0"}, {"podCIDR", "10.0.0.0/24"}};
  caches.nodes.replace({{{"metadata", {{"name", "cpu"}, {"uid", "u"}, {"resourceVersion", "7"}}}, {"spec", spec}}});
  EXPECT_EQ(*caches.nodes.find({"", "cpu"}),
            (Json{{"metadata", {{"name", "cpu"}, {"uid", "u"}}}, {"spec", {{"providerID", "aws:///us-east-1a/i-0"}}}}));
}

TEST(Caches, KeepOfAPodsMetadataOnlyWhatTheOperatorReads) {
  const Json owner = {{"kind", "TrainingJob"}, {"name", "job"}, {"uid", "j"}, {"controller", true}};
  const Json metadata = {{"name", "job-1"},
                         {"namespace", "team"},
                         {"uid", "u"},
                         {"labels", {{kJobNameLabel, "job"}}},
                         {"annotations", {{kNodeAnnotation, "node-1"}}},
                         {"ownerReferences", Json::array({owner})}};
  Json pod = {{"metadata", metadata}};
  pod["metadata"]["generateName"] = "job-";
  pod["metadata"]["labels"]["team"] = "vision";
  pod["metadata"]["annotations"]["cni.example.com/networks"] = "a long text";
  pod["metadata"]["ownerReferences"][0]["apiVersion"] = "sailor.dev/v1alpha1";
  Caches caches;
  caches.pods.put(pod);
  EXPECT_EQ(caches.pods.find({"team", "job-1"})->at("metadata"), metadata);
}

TEST(KubeObject, CountsAreTextsOrNumbers) {
  const Json counts =
      Json::parse(R"({"text": "8", "number": 8, "negative": -8, "huge": "99999999999", "word": "8Gi", "list": []})");
  EXPECT_EQ(count_at(counts, {"text"}), 8);
  EXPECT_EQ(count_at(counts, {"number"}), 8);
  EXPECT_EQ(count_at(counts, {"huge"}), 99'999'999'999);
  for (const char* field : {"negative", "word", "list", "absent"}) EXPECT_EQ(count_at(counts, {field}), 0) << field;
}

TEST(WorkQueue, HandsAKeyOutOnceAndAgainIfItWasAddedMeanwhile) {
  WorkQueue queue;
  const JobKey job{"default", "a"};
  queue.add(job);
  queue.add(job);
  EXPECT_EQ(queue.depth(), 1U);
  EXPECT_EQ(queue.take({}), job);
  queue.add(job);
  EXPECT_EQ(queue.depth(), 0U) << "it is being worked on";
  queue.done(job);
  EXPECT_EQ(queue.depth(), 1U);
}

TEST(WorkQueue, DelayOfManyYearsDoesNotOverflow) {
  WorkQueue queue;
  queue.add_after({"default", "late"}, std::chrono::milliseconds::max());
  queue.add_after({"default", "soon"}, std::chrono::milliseconds(1));
  EXPECT_EQ(queue.take({}), (JobKey{"default", "soon"}));
}

TEST(WorkQueue, HandsOutADelayedKeyAndEndsAtAStop) {
  WorkQueue queue;
  queue.add_after({"default", "a"}, std::chrono::milliseconds(1));
  EXPECT_TRUE(queue.take({}).has_value());
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(queue.take(stop.get_token()).has_value());
}

}  // namespace
}  // namespace sailor::kube
