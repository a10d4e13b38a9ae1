// The check of an installation: what it looks at, and what it says of an installation that is not complete.
#include "operator/self_check.h"

#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/operator/fake_api.h"

namespace sailor {
namespace {

using kube::Json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Answers reviews of access, as an API server does.
class ReviewingApi : public testing::FakeApi {
 public:
  kube::HttpResponse send(const kube::HttpRequest& request) override {
    if (missing_kind != "" && request.target.find(missing_kind) != std::string::npos && request.method == "GET")
      return {404, R"({"kind": "Status", "reason": "NotFound", "message": "the server could not find it"})", {}};
    if (forbidden_object != "" && request.target.ends_with(forbidden_object))
      return {403, R"({"kind": "Status", "reason": "Forbidden", "message": "the server refuses"})", {}};
    if (request.target.find("selfsubjectaccessreviews") == std::string::npos) return FakeApi::send(request);
    Json review = Json::parse(request.body);
    const Json asked = review["spec"]["resourceAttributes"];
    const bool is_update_of_secret = asked["verb"] == "update" && asked["resource"] == "secrets";
    const bool is_granted = !is_update_of_secret || asked["name"] == "sailor-ca-identity";  // as in the chart's roles
    review["status"]["allowed"] = asked["verb"] != forbidden_verb && is_granted;
    return {201, review.dump(), std::nullopt};
  }
  std::string missing_kind;
  std::string forbidden_object;
  std::string forbidden_verb;
};

constexpr const char* kSecretsPath = "/api/v1/namespaces/sailor-system/secrets";

class SelfCheck : public ::testing::Test {
 protected:
  SelfCheck() {
    options.elects_leader = true;
    options.cluster.namespace_name = "sailor-system";
    put_lease("sailor-1", 1);
    for (const std::string& name : {options.ca_secret, options.ca_secret + "-identity"})
      server.put(kSecretsPath, {{"metadata", {{"name", name}}}});
  }
  void put_lease(const std::string& holder, int renewal) {
    server.put("/apis/coordination.k8s.io/v1/namespaces/sailor-system/leases",
               {{"metadata", {{"name", options.lease_name}, {"namespace", "sailor-system"}}},
                {"spec", {{"holderIdentity", holder}, {"renewals", renewal}}}});
  }
  std::vector<CheckLine> check() {
    return check_installation(api, options, [this](std::chrono::milliseconds time) {
      waited += time;
      if (renews) put_lease("sailor-1", static_cast<int>(waited.count()));
    });
  }
  static std::vector<std::string> problems(const std::vector<CheckLine>& lines) {
    std::vector<std::string> texts;
    for (const CheckLine& line : lines) {
      if (!line.is_good) texts.push_back(line.text);
    }
    return texts;
  }

  ReviewingApi server;
  kube::Api api{server, {.sleep = [](std::chrono::milliseconds) {}}};
  OperatorOptions options;
  std::chrono::milliseconds waited{0};
  bool renews = true;
};

TEST_F(SelfCheck, CompleteInstallationHasNoProblem) {
  const auto lines = check();
  EXPECT_THAT(problems(lines), IsEmpty());
  EXPECT_EQ(lines.back().text, "an operator leads (Lease sailor-operator): sailor-1");
  EXPECT_EQ(waited, std::chrono::seconds(1)) << "it waits no longer than it must";
}

TEST_F(SelfCheck, MissingDefinitionIsNamedWithARemedy) {
  server.missing_kind = "gpupools";
  EXPECT_THAT(problems(check()), ElementsAre(AllOf(HasSubstr("lists gpupools.sailor.dev"), HasSubstr("crds.enabled"))));
}

TEST_F(SelfCheck, MissingKueueIsNamedIfTheOperatorUsesIt) {
  EXPECT_THAT(problems(check()), IsEmpty());
  EXPECT_THAT(server.requests, Not(Contains(HasSubstr("kueue"))));
  options.kueue_version = "v1beta1";
  EXPECT_THAT(problems(check()), IsEmpty());
  server.missing_kind = "kueue.x-k8s.io/v1beta1/workloads";
  EXPECT_THAT(problems(check()),
              ElementsAre(AllOf(HasSubstr("lists workloads.kueue.x-k8s.io"), HasSubstr("install Kueue"))));
  server.missing_kind.clear();
  server.forbidden_verb = "update";
  EXPECT_THAT(problems(check()), Contains(HasSubstr("may update workloads.kueue.x-k8s.io/status")));
}

TEST_F(SelfCheck, MissingRightsAreNamed) {
  server.forbidden_verb = "delete";
  const auto found = problems(check());
  ASSERT_THAT(found, SizeIs(5));
  EXPECT_THAT(found[0], AllOf(HasSubstr("may delete pods"), HasSubstr("rbac.create")));
  EXPECT_THAT(found[1], HasSubstr("may delete jobrecords.sailor.dev"));
  EXPECT_THAT(found[2], HasSubstr("may delete trainingjobs.sailor.dev"));
  EXPECT_THAT(found[3], HasSubstr("may delete secrets"));
  EXPECT_THAT(found[4], HasSubstr("may delete networkpolicies.networking.k8s.io"));
}

TEST_F(SelfCheck, MissingCaIsAProblem) {
  server.erase(kSecretsPath, options.ca_secret);
  EXPECT_THAT(problems(check()), ElementsAre(AllOf(HasSubstr("reads the CA of the agents (Secret sailor-ca)"),
                                                   HasSubstr("the operator makes it when it starts"))));
}

TEST_F(SelfCheck, MissingCertificateOfTheOperatorIsAProblem) {
  server.erase(kSecretsPath, "sailor-ca-identity");
  EXPECT_THAT(problems(check()),
              ElementsAre(AllOf(HasSubstr("reads the operator's own certificate (Secret sailor-ca-identity)"),
                                HasSubstr("the operator makes it when it starts"))));
}

TEST_F(SelfCheck, MissingRightsToTheSecretsOfTheOperatorAreNamed) {
  const auto names = [](const char* right) { return AllOf(HasSubstr(right), HasSubstr("rbac.create")); };
  for (const char* name : {"sailor-ca", "sailor-ca-identity"}) {
    server.forbidden_object = fmt::format("secrets/{}", name);
    EXPECT_THAT(problems(check()), ElementsAre(names(fmt::format("(Secret {})", name).c_str())));
  }
  server.forbidden_object.clear();
  options.namespaces = {"team"};  // the rights elsewhere say nothing about the operator's namespace
  server.forbidden_verb = "create";
  EXPECT_THAT(problems(check()), Contains(names("may create secrets in namespace sailor-system")));
  server.forbidden_verb = "update";
  EXPECT_THAT(problems(check()), Contains(names("may update secrets sailor-ca-identity in namespace sailor-system")));
}

TEST_F(SelfCheck, LeaseThatNobodyRenewsIsAProblem) {
  renews = false;
  EXPECT_THAT(problems(check()), ElementsAre(HasSubstr("sailor-1 does not renew the Lease")));
  put_lease("", 2);
  EXPECT_THAT(problems(check()), ElementsAre(HasSubstr("nobody holds the Lease")));
}

TEST_F(SelfCheck, OperatorOfSomeNamespacesNeedsNoRightsElsewhere) {
  options.namespaces = {"team", "other"};
  options.elects_leader = false;
  const auto lines = check();
  EXPECT_THAT(problems(lines), IsEmpty());
  const auto asks_for_pools = [](const CheckLine& line) {
    return line.text.find("gpupools.sailor.dev/") != std::string::npos;
  };
  EXPECT_TRUE(std::ranges::none_of(lines, asks_for_pools));
  for (const char* list : {"team/trainingjobs", "other/trainingjobs", "other/jobrecords"})
    EXPECT_THAT(server.requests, Contains(fmt::format("GET /apis/sailor.dev/v1alpha1/namespaces/{}", list)));
  EXPECT_THAT(server.requests, Not(Contains("GET /apis/sailor.dev/v1alpha1/trainingjobs")));

  server.forbidden_verb = "delete";
  EXPECT_THAT(problems(check()), AllOf(SizeIs(10), Contains(HasSubstr("may delete pods in namespace team: ")),
                                       Contains(HasSubstr("may delete pods in namespace other: "))));
}

}  // namespace
}  // namespace sailor
