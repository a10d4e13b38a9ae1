// What agents ask the operator, over TLS: hints are heard, leases are renewed, and no agent speaks for another job.
#include "operator/agents/callback_routes.h"

#include <mutex>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/net/http_client.h"
#include "core/protocol/credentials.h"
#include "tests/core/net/tcp_peer.h"
#include "tests/core/net/test_authority.h"

namespace sailor {
namespace {

const JobKey kCallingJob{"default", "job"};

class CallbackRoutes : public ::testing::Test {
 protected:
  // Asks as an agent of the job, and returns the status of the answer.
  int ask(const JobKey& job, const std::string& path, const std::string& body) {
    const net::HttpClient client(net::https_url("127.0.0.1", port_),
                                 {.tls = authority_.settings(job_uri(job), operator_uri())});
    const auto answer = client.send({"POST", path, body, "application/json"});
    EXPECT_TRUE(answer) << answer.error().message;
    return answer ? answer->status : 0;
  }
  int hint(const JobKey& as, const std::string& job) {
    return ask(
        as, "/v1/hints",
        fmt::format(R"({{"namespace": "default", "job": "{}", "agent": "pod-0", "reason": "Terminating"}})", job));
  }
  int lease(const std::string& uid, int generation, const JobKey& as = kCallingJob) {
    return ask(
        as, "/v1/leases",
        fmt::format(R"({{"namespace": "default", "job": "job", "jobUid": "{}", "generation": {}}})", uid, generation));
  }
  std::vector<JobKey> heard() {
    const std::scoped_lock lock(mutex_);
    return heard_;
  }

 private:
  HintAnswer take(const Hint& hint) {
    const std::scoped_lock lock(mutex_);
    const JobKey& job = hint.job;
    heard_.push_back(job);
    if (job == JobKey{"default", "unknown"}) return HintAnswer::kUnknown;
    return job == kCallingJob ? HintAnswer::kNeeded : HintAnswer::kDismissed;
  }
  static LeaseAnswer renew(const LeaseQuestion& question) {
    if (question.job_uid != "uid") return LeaseAnswer::kUnknown;
    return question.generation == 3 ? LeaseAnswer::kRenewed : LeaseAnswer::kRefused;
  }

  std::mutex mutex_;
  std::vector<JobKey> heard_;
  const net::testing::TestAuthority authority_;
  const std::shared_ptr<const net::TlsSettings> own_ = authority_.shared(operator_uri());
  const int port_ = net::testing::free_port();
  const std::unique_ptr<net::HttpServer> server_ =
      net::HttpServer::listen(net::address_of("127.0.0.1", port_),
                              callback_routes({[this](const Hint& hint) { return take(hint); }, renew}),
                              {.tls = [this] { return own_; }})
          .value();
};

TEST_F(CallbackRoutes, HearAHintAndRefuseWhatIsNone) {
  EXPECT_EQ(hint(kCallingJob, "job"), 204);
  EXPECT_EQ(hint({"default", "gone"}, "gone"), 410) << "nobody needs its agents";
  EXPECT_EQ(hint({"default", "unknown"}, "unknown"), 503)
      << "an operator that does not know a job does not dismiss its agents";
  EXPECT_EQ(ask(kCallingJob, "/v1/hints", "[]"), 400);
  EXPECT_EQ(ask(kCallingJob, "/other", "{}"), 404);
  EXPECT_EQ(heard(), (std::vector<JobKey>{kCallingJob, {"default", "gone"}, {"default", "unknown"}}));
}

TEST_F(CallbackRoutes, RenewALeaseOrSayThatTheyDoNot) {
  EXPECT_EQ(lease("uid", 3), 204);
  EXPECT_EQ(lease("uid", 2), 409);
  EXPECT_EQ(lease("other", 3), 503);
  EXPECT_EQ(ask(kCallingJob, "/v1/leases", R"({"namespace": "default", "job": "job", "generation": 3})"), 400);
}

TEST_F(CallbackRoutes, RefuseAnAgentThatAsksAboutAnotherJob) {
  const JobKey other{"default", "other"};
  EXPECT_EQ(hint(other, "job"), 403);
  EXPECT_EQ(lease("uid", 3, other), 403);
  EXPECT_EQ(lease("uid", 3, {"elsewhere", "job"}), 403) << "the same name in another namespace";
  EXPECT_TRUE(heard().empty());
}

}  // namespace
}  // namespace sailor
