// The two ends of `sailor-trainer links`: how they meet, and what they say if they do not.
#include "trainer/profile/links_command.h"

#include <future>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/manifest/manifest.h"
#include "core/manifest/source.h"
#include "tests/trainer/support/assignments.h"

namespace sailor::trainer {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kPort = 7078;
constexpr std::chrono::seconds kLongest{60};        // far longer than the other end takes on a busy machine
constexpr std::chrono::milliseconds kBriefly{300};  // the other end never comes

LinksOptions end_with(int rank, const std::string& address, std::chrono::milliseconds patience) {
  return {.rank = rank,
          .host = address,
          .store = rank == 0 ? "" : address,
          .port = kPort,
          .patience = patience,
          .device = DeviceChoice::kCpu,
          .zones = {"us-central1-a", "us-central1-b"}};
}

// Takes connections and closes them at once, as a Kubernetes Service may do while its pod does not run.
void close_connections(const std::string& address, int connections) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(kPort);
  ASSERT_EQ(inet_pton(AF_INET, address.c_str(), &place.sin_addr), 1);
  ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&place), sizeof place), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  for (int i = 0; i < connections; ++i) close(accept(listener, nullptr, nullptr));
  close(listener);
}

std::string error_of(const LinksOptions& options) {
  const auto printed = measure_links(options);
  return printed ? "none" : printed.error().message;
}

TEST(LinksCommand, MeasuresBetweenTheEndsAndPrintsAtTheFirst) {
  const std::string address = testing::own_address();
  auto second = std::async(std::launch::async, [&] { return measure_links(end_with(1, address, kLongest)); });
  const auto printed = measure_links(end_with(0, address, kLongest));
  const auto silent = second.get();
  ASSERT_TRUE(printed.has_value()) << printed.error().message;
  ASSERT_TRUE(silent.has_value()) << silent.error().message;
  EXPECT_EQ(*silent, "");
  const auto documents = parse_documents(*printed, "links");
  ASSERT_TRUE(documents.has_value()) << documents.error().message;
  const auto network = network_from_manifest(documents->front().value);
  ASSERT_TRUE(network.has_value()) << network.error().message;
  EXPECT_TRUE(network->has_override(Zone("us-central1-a"), Zone("us-central1-b")));
  EXPECT_TRUE(network->execution_model().is_measured);
}

TEST(LinksCommand, WaitsWhileTheAddressOfTheFirstEndLeadsToNobody) {
  const std::string address = testing::own_address();
  auto second = std::async(std::launch::async, [&] { return measure_links(end_with(1, address, kLongest)); });
  close_connections(address, 3);
  const auto printed = measure_links(end_with(0, address, kLongest));
  EXPECT_TRUE(printed.has_value()) << printed.error().message;
  const auto silent = second.get();
  EXPECT_TRUE(silent.has_value()) << silent.error().message;
}

TEST(LinksCommand, SaysWhichEndIsMissing) {
  const std::string address = testing::own_address();
  EXPECT_THAT(error_of(end_with(0, address, kBriefly)),
              AllOf(HasSubstr("no end with --rank 1 came to " + address + ":7078 within 0.3 s"),
                    HasSubstr("--store that leads here")));
  EXPECT_THAT(error_of(end_with(1, address, kBriefly)),
              AllOf(HasSubstr("the end with --rank 0 did not answer at " + address + ":7078 within 0.3 s"),
                    HasSubstr("start it")));
}

TEST(LinksCommand, RefusesOptionsThatDoNotBelongTogether) {
  const std::string address = testing::own_address();
  EXPECT_THAT(error_of({.rank = 1, .host = address}), HasSubstr("(--store)"));
  EXPECT_THAT(error_of({.rank = 1, .store = address}), HasSubstr("(--host)"));
  EXPECT_THAT(error_of({.rank = 0, .host = address, .store = address}),
              HasSubstr("--store is for the end with --rank 1"));
  EXPECT_THAT(error_of({.zones = {"a", "b"}}), HasSubstr("--zones is for two machines"));
}

}  // namespace
}  // namespace sailor::trainer
