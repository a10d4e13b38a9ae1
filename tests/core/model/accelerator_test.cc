#include "core/model/accelerator.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/model/json_reader.h"

namespace sailor {
namespace {

using Json = nlohmann::json;

const Accelerator kL40s("nvidia-l40s");

Json an_l40s() {
  return {{"gpu",
           {{"memoryGib", "44.9"},
            {"teraflops", {{"fp32", "183"}, {"bf16", "362"}}},
            {"memoryGigabytesPerSecond", "864"},
            {"peerGigabytesPerSecond", "32"}}}};
}

std::string complaint(const Json& spec) {
  JsonReader reader(spec, "spec");
  (void)read_gpu(reader, kL40s);
  return reader.error() ? reader.error()->message : "";
}

TEST(Accelerators, TheCatalogueHasTheGpusOfGoogleCloudWithPrices) {
  const AcceleratorSpec& a100 = *find_accelerator(Accelerator("nvidia-a100-80gb"));
  EXPECT_EQ(a100.memory, gibibytes(80));
  EXPECT_EQ(a100.fp32, teraflops_per_second(156));
  EXPECT_EQ(a100.bf16, teraflops_per_second(312));
  EXPECT_EQ(a100.memory_bandwidth, gigabytes_per_second(2039));
  EXPECT_EQ(a100.peer_bandwidth, gigabytes_per_second(300));
  EXPECT_EQ(list_price(a100.name, Provisioning::kOnDemand), DollarsPerHour(5.07));
  EXPECT_EQ(list_price(Accelerator("nvidia-titan-rtx"), Provisioning::kOnDemand), std::nullopt);
  EXPECT_THAT(known_accelerators(), ::testing::StartsWith("nvidia-tesla-t4, nvidia-l4, "));
}

TEST(Accelerators, ASpotGpuHasHalfTheListPrice) {
  EXPECT_EQ(list_price(Accelerator("nvidia-a100-80gb"), Provisioning::kSpot), DollarsPerHour(5.07 / 2));
  EXPECT_EQ(list_price(Accelerator("nvidia-titan-rtx"), Provisioning::kSpot), std::nullopt);
}

TEST(Accelerators, AreFoundByTheNamesThatLabelsOfNodesHave) {
  for (const char* label : {"nvidia-l4", "NVIDIA-L4", "l4"}) {
    const AcceleratorSpec* found = accelerator_of_label(label);
    ASSERT_NE(found, nullptr) << label;
    EXPECT_EQ(found->name, Accelerator("nvidia-l4")) << label;
  }
  EXPECT_EQ(accelerator_of_label("NVIDIA-A100-SXM4-80GB")->name, Accelerator("nvidia-a100-80gb"));
  EXPECT_EQ(accelerator_of_label("NVIDIA-A100-SXM4-80GB-MIG-1g.10gb"), nullptr) << "a part of a GPU is another one";
  EXPECT_EQ(accelerator_of_label(""), nullptr);
}

TEST(Accelerators, FiguresOfOneGpuAreReadAsTheCatalogueStatesThem) {
  const Json spec = an_l40s();
  JsonReader reader(spec, "spec");
  const AcceleratorSpec expected{kL40s,
                                 gibibytes(44.9),
                                 teraflops_per_second(183),
                                 teraflops_per_second(362),
                                 gigabytes_per_second(864),
                                 gigabytes_per_second(32)};
  EXPECT_EQ(read_gpu(reader, kL40s), expected);
  EXPECT_FALSE(reader.error());
}

TEST(Accelerators, WithoutAPeerBandwidthItIsThatOfPcie3) {
  Json spec = an_l40s();
  spec["gpu"].erase("peerGigabytesPerSecond");
  JsonReader reader(spec, "spec");
  EXPECT_EQ(read_gpu(reader, kL40s)->peer_bandwidth, gigabytes_per_second(16));
}

TEST(Accelerators, WithoutFiguresThereIsNoAccelerator) {
  for (const Json& spec : {Json::object(), Json{{"gpu", nullptr}}}) {
    JsonReader reader(spec, "spec");
    EXPECT_EQ(read_gpu(reader, kL40s), std::nullopt);
    EXPECT_FALSE(reader.error());
  }
}

TEST(Accelerators, AFigureThatNoGpuHasIsRefused) {
  for (const char* field : {"/gpu/memoryGib", "/gpu/teraflops/fp32", "/gpu/teraflops/bf16",
                            "/gpu/memoryGigabytesPerSecond", "/gpu/peerGigabytesPerSecond"}) {
    std::string path = std::string("spec") + field + ": ";
    std::ranges::replace(path, '/', '.');
    for (const char* value : {"0", "0.01", "1e12", "-1", "nan", "inf", "many", ""}) {
      Json spec = an_l40s();
      spec[Json::json_pointer(field)] = value;
      EXPECT_THAT(complaint(spec), ::testing::StartsWith(path)) << value;
    }
  }
}

TEST(Accelerators, AMissingFigureIsNamed) {
  for (const char* field :
       {"/gpu/memoryGib", "/gpu/teraflops/fp32", "/gpu/teraflops/bf16", "/gpu/memoryGigabytesPerSecond"}) {
    Json spec = an_l40s();
    spec[Json::json_pointer(field)] = nullptr;
    EXPECT_THAT(complaint(spec), ::testing::EndsWith("is missing")) << field;
  }
}

TEST(AcceleratorBook, AStatementReplacesTheCatalogueAndTheFirstOneIsKept) {
  AcceleratorBook book;
  const Accelerator l4("nvidia-l4");
  EXPECT_EQ(book.find(l4), find_accelerator(l4));
  EXPECT_EQ(book.find(kL40s), nullptr);
  book.add({.name = l4, .memory = gibibytes(20)});
  book.add({.name = l4, .memory = gibibytes(10)});
  EXPECT_EQ(book.find(l4)->memory, gibibytes(20));
}

}  // namespace
}  // namespace sailor
