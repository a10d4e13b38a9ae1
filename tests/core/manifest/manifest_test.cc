// How manifests are read, and the messages about invalid ones.
#include "core/manifest/manifest.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/manifest/fields.h"
#include "core/manifest/source.h"

namespace sailor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kJob = R"(
apiVersion: sailor.dev/v1alpha1
kind: TrainingJob
metadata: {name: opt, namespace: research}
spec:
  model: {name: opt-350m}
  training: {globalBatchSize: 1024, sequenceLength: 2048, steps: 10}
  data: {format: Bytes, path: /data/*.txt}
)";

SourceDocument document(const std::string& yaml) { return parse_documents(yaml, "file.yaml").value().at(0); }

Result<JobSpec> job(const std::string& more) { return job_from_manifest(document(kJob + more).value); }

std::vector<std::string> complaints(const std::string& yaml) {
  const SourceDocument source = document(yaml);
  std::vector<std::string> messages;
  for (const Error& error : check_fields(source.value)) messages.push_back(source.located(error).message);
  return messages;
}

TEST(JobManifest, OmittedFieldsHaveTheirDefaults) {
  const JobSpec spec = job("").value();
  EXPECT_EQ(spec.key, (JobKey{"research", "opt"}));
  EXPECT_EQ(spec.model.blocks, 24);
  EXPECT_EQ(spec.objective, Objective(MaximizeThroughput{}));
  EXPECT_EQ(spec.resources.min_gpus, 1);
  EXPECT_FALSE(spec.resources.max_gpus);
  EXPECT_EQ(spec.elasticity, ElasticityMode::kLive);
  EXPECT_EQ(spec.redundancy, Redundancy::kAuto);
  EXPECT_EQ(spec.max_restarts, 10);
  EXPECT_THAT(spec.training.microbatch_sizes, ElementsAre(1, 2, 4, 8, 16, 32, 64));
}

TEST(JobManifest, LooksAheadUnlessItSaysOtherwise) {
  EXPECT_EQ(job("").value().look_ahead, LookAhead::kAuto);
  EXPECT_EQ(job("  elasticity: {lookAhead: 'Off'}\n").value().look_ahead, LookAhead::kOff);
  EXPECT_EQ(job("  elasticity: {lookAhead: 'On'}\n").value().look_ahead, LookAhead::kOn);
  EXPECT_THAT(job("  elasticity: {lookAhead: Never}\n").error().message,
              HasSubstr("spec.elasticity.lookAhead: \"Never\" is unknown; use one of Auto, Off, On"));
}

TEST(JobManifest, SlowdownWhileStateIsStreamedIsAPercentage) {
  EXPECT_EQ(job("").value().streaming_slowdown_percent, 10);
  EXPECT_EQ(job("  elasticity: {streamingSlowdownPercent: 25}\n").value().streaming_slowdown_percent, 25);
  EXPECT_THAT(job("  elasticity: {streamingSlowdownPercent: 0}\n").error().message,
              HasSubstr("spec.elasticity.streamingSlowdownPercent"));
}

TEST(JobManifest, RedundancyIsReadByName) {
  EXPECT_EQ(job("  elasticity: {redundancy: Peer}\n").value().redundancy, Redundancy::kPeer);
  EXPECT_THAT(job("  elasticity: {redundancy: Twice}\n").error().message,
              HasSubstr("spec.elasticity.redundancy: \"Twice\" is unknown; use one of Auto, None, Peer"));
}

TEST(JobManifest, AnAbsentLimitIsUnlimitedAndZeroIsALimit) {
  EXPECT_EQ(job("  objective: {maxCostPerIteration: \"0\"}\n").value().objective,
            Objective(MaximizeThroughput{Dollars(0), std::nullopt}));
  EXPECT_EQ(job("  objective: {type: MinCost, minThroughput: \"0.25\"}\n").value().objective,
            Objective(MinimizeCost{0.25}));
}

TEST(JobManifest, ALimitOfTheOtherObjectiveIsRefused) {
  EXPECT_EQ(
      job("  objective: {type: MinCost, maxCostPerHour: \"3\"}\n").error().message,
      "spec.objective.maxCostPerHour: applies to MaxThroughput only; set type to MaxThroughput or remove the limit");
}

TEST(JobManifest, MaxGpusBelowMinGpusIsRefused) {
  EXPECT_EQ(job("  resources: {minGpus: 8, maxGpus: 4}\n").error().message,
            "spec.resources.maxGpus: 4 is below minGpus 8; raise maxGpus or lower minGpus");
}

TEST(JobManifest, SequencesLongerThanTheModelsPositionsAreRefused) {
  std::string yaml = kJob;
  yaml.replace(yaml.find("2048"), 4, "4096");
  EXPECT_THAT(job_from_manifest(document(yaml).value).error().message,
              HasSubstr("spec.training.sequenceLength: 4096 exceeds the 2048 positions of model opt-350m"));
}

TEST(JobManifest, AnErrorAboutAnUnknownModelListsTheCatalogue) {
  std::string yaml = kJob;
  yaml.replace(yaml.find("opt-350m"), 8, "opt-351m");
  EXPECT_THAT(job_from_manifest(document(yaml).value).error().message,
              ::testing::AllOf(HasSubstr("spec.model.name"), HasSubstr("opt-351m"), HasSubstr("llama-3-8b")));
}

TEST(Fields, AnErrorAboutAnUnknownFieldHasItsLineAndTheKnownFields) {
  EXPECT_THAT(
      complaints(std::string(kJob) + "  resources: {maxGpu: 3}\n"),
      ElementsAre(HasSubstr("file.yaml:9: spec.resources.maxGpu: is not a field here; the fields are accelerators, "
                            "zones, provisioning, minGpus, maxGpus")));
}

TEST(Fields, ADecimalWithoutQuotesIsShownWithQuotes) {
  EXPECT_THAT(complaints(std::string(kJob) + "  objective: {maxCostPerHour: 1.5}\n"),
              ElementsAre(HasSubstr("spec.objective.maxCostPerHour: 1.5 is invalid: decimals are written in quotes: "
                                    "\"1.5\"")));
}

TEST(Fields, AnErrorAboutABareOffSaysThatItIsABoolean) {
  EXPECT_THAT(complaints(std::string(kJob) + "  elasticity: {mode: Off}\n"),
              ElementsAre(HasSubstr("YAML reads a bare On, Off, Yes or No as a boolean, so quote it")));
}

TEST(Fields, AllErrorsOfADocumentAreReported) {
  EXPECT_THAT(complaints("apiVersion: sailor.dev/v1\nkind: TrainingJob\nspec:\n  model: []\n  trainig: {}\n"),
              ::testing::IsSupersetOf({HasSubstr("file.yaml:4: spec.model: [] is invalid"),
                                       HasSubstr("file.yaml:5: spec.trainig: is not a field here"),
                                       HasSubstr("spec.training: is missing"), HasSubstr("spec.data: is missing"),
                                       HasSubstr("metadata.name: is missing"),
                                       HasSubstr("file.yaml:1: apiVersion: \"sailor.dev/v1\" is unknown")}));
}

TEST(Fields, AnUnknownKindIsRefused) {
  EXPECT_THAT(complaints("apiVersion: v1\nkind: Pod\n"), ElementsAre(HasSubstr("\"Pod\" is not a kind of Sailor")));
}

TEST(Source, AFieldThatIsSetTwiceIsRefused) {
  EXPECT_EQ(parse_documents("a: 1\nb: 2\na: 3\n", "x.yaml").error().message, "x.yaml:3: a: is set twice; keep one");
}

TEST(Source, AnErrorAboutInvalidYamlHasTheLine) {
  EXPECT_THAT(parse_documents("a: [1, 2\nb: 3\n", "x.yaml").error().message, HasSubstr("x.yaml:2: invalid YAML"));
}

TEST(Source, EmptyDocumentsOfAStreamAreSkipped) {
  const auto documents = parse_documents("---\na: 1\n---\n---\nb: 2\n", "x.yaml").value();
  ASSERT_EQ(documents.size(), 2U);
  EXPECT_EQ(documents[1].line_of("b"), 5);
  EXPECT_EQ(documents[1].line_of("b.c[3].d"), 5) << "the nearest enclosing field";
}

TEST(Source, QuotedScalarsAreTextAndPlainOnesHaveTheTypeTheyLookLike) {
  const Json json = document("{a: \"1\", b: 1, c: 1.5e-3, d: yes, e: 'yes', f: 2024-11-21, g: ~, h: .inf}").value;
  EXPECT_EQ(json, (Json{{"a", "1"},
                        {"b", 1},
                        {"c", 1.5e-3},
                        {"d", true},
                        {"e", "yes"},
                        {"f", "2024-11-21"},
                        {"g", nullptr},
                        {"h", ".inf"}}));
}

TEST(Source, WordsThatKubectlTakesForBooleansAreBooleans) {
  const Json json = document("{a: y, b: N, c: 'y', d: yEs}").value;
  EXPECT_EQ(json, (Json{{"a", true}, {"b", false}, {"c", "y"}, {"d", "yEs"}}));
}

// The results are those of sigs.k8s.io/yaml, with which kubectl reads files.
TEST(Source, NumbersAreReadAsKubectlReadsThem) {
  const std::pair<const char*, Json> cases[] = {
      {"010", 8},    {"-010", -8},       {"+010", 8},      {"0_7", 7},     {"08", 8},        {"00", 0},
      {"0x10", 16},  {"-0X1f", -31},     {"0o17", 15},     {"0b11", 3},    {"1_000", 1000},  {"+5", 5},
      {"1e3", 1000}, {"100.0", 100},     {"5.", 5},        {".5", 0.5},    {"1_0.5", 10.5},  {"1e30", 1e30},
      {"0x", "0x"},  {"0b12", "0b12"},   {"0--5", "0--5"}, {"--5", "--5"}, {"-inf", "-inf"}, {"1:30", "1:30"},
      {"_1", "_1"},  {"0x1p4", "0x1p4"}, {"-_", "-_"}};
  for (const auto& [text, value] : cases) {
    EXPECT_EQ(document(std::string("a: ") + text).value.at("a"), value) << text;
  }
  EXPECT_EQ(document("a: 010").value.at("a").type(), Json::value_t::number_integer);
  EXPECT_EQ(document("a: 1e3").value.at("a").type(), Json::value_t::number_integer);
}

// The results are those of `kubectl annotate --local`, also where the specification of YAML says something else.
TEST(Source, MergeKeysTakeOverTheFieldsOfOtherMaps) {
  const SourceDocument merged = document(
      "x: &x {a: 1, b: 2}\n"
      "y: {<<: *x, b: 3}\n"
      "z:\n"
      "  b: 0\n"
      "  <<: [{c: 5}, *x, {a: 7, d: 8}]\n"
      "  '<<': text\n");
  EXPECT_EQ(merged.value.at("y"), (Json{{"a", 1}, {"b", 3}}));
  EXPECT_EQ(merged.value.at("z"), (Json{{"a", 1}, {"b", 2}, {"c", 5}, {"d", 8}, {"<<", "text"}}));
  EXPECT_EQ(merged.line_of("y.b"), 2);
  EXPECT_EQ(merged.line_of("y.a"), 1) << "where its value is";
}

TEST(Source, AMergeKeyOfSomethingElseThanMapsIsRefusedWithItsLine) {
  for (const char* text : {"a: &a text\nb: {<<: *a}", "a: &a\nb: {<<: [[{c: 1}]]}", "a: &a\nb: {<<: }"}) {
    EXPECT_THAT(parse_documents(text, "x.yaml").error().message, HasSubstr("<<: must be a map or a list of maps"));
  }
  EXPECT_THAT(parse_documents("a: &a {b: {<<: *a}}", "x.yaml").error().message, HasSubstr("nested deeper than"));
}

// yaml-cpp reads the first two without end.
TEST(Source, TextAfterTheEndOfAValueIsRefusedWithItsLine) {
  for (const char* text : {"\n, a", "\n{\"a\": 1},\"b\": 2}", "\n{a: 1} }"}) {
    EXPECT_THAT(parse_documents(text, "x.yaml").error().message, HasSubstr("x.yaml:2: invalid YAML: ")) << text;
  }
}

TEST(Source, TextThatIsNotUtf8IsRefusedWithItsLine) {
  EXPECT_THAT(parse_documents("a: 1\nb: \xff\n", "x.yaml").error().message,
              HasSubstr("x.yaml:2: the text is not UTF-8; save the file"));
  EXPECT_TRUE(parse_documents("a: \xc3\xbc\n", "x.yaml"));
}

TEST(Source, AnEnormousDocumentOfAliasesIsRefused) {
  std::string bomb = "a: &a [1,1,1,1,1,1,1,1,1,1]\n";
  for (char c = 'b'; c < 'j'; ++c) {
    const std::string last(1, static_cast<char>(c - 1));
    bomb += fmt::format("{0}: &{0} [*{1},*{1},*{1},*{1},*{1},*{1},*{1},*{1},*{1},*{1}]\n", c, last);
  }
  EXPECT_THAT(parse_documents(bomb, "x.yaml").error().message, HasSubstr("more than 300000 values"));
}

constexpr const char* kPool = R"(
apiVersion: sailor.dev/v1alpha1
kind: GpuPool
metadata: {name: pool}
spec: {region: us-central1, zone: us-central1-a, accelerator: nvidia-tesla-a100, gpusPerNode: 4, provisioning: Spot,
       maxNodes: 3, pricePerGpuHour: "1.10", wholeNodes: true, network: {interNodeGbps: "100"}})";

TEST(PoolManifest, FieldsBecomeADeclaration) {
  const PoolDeclaration pool = pool_from_manifest(document(kPool).value).value();
  EXPECT_EQ(to_string(pool.key), "us-central1-a/nvidia-tesla-a100/spot");
  EXPECT_EQ(pool.max_nodes, 3);
  EXPECT_EQ(pool.price_per_gpu, DollarsPerHour(1.10));
  EXPECT_EQ(pool.inter_node_bandwidth, gigabytes_per_second(12.5));
  EXPECT_EQ(pool_of(pool, 2).free_gpus(), 8);
  EXPECT_EQ(pool_of(pool, 0).free_gpus(), 0);
}

TEST(PoolManifest, WithoutAPriceTheListPriceApplies) {
  Json json = document(kPool).value;
  json["spec"].erase("pricePerGpuHour");
  const DollarsPerHour spot = pool_from_manifest(json).value().price_per_gpu;
  json["spec"]["provisioning"] = "OnDemand";
  EXPECT_GT(pool_from_manifest(json).value().price_per_gpu, spot);
  EXPECT_GT(spot, DollarsPerHour(0));
  json["spec"]["accelerator"] = "nvidia-titan-rtx";
  EXPECT_THAT(pool_from_manifest(json).error().message, HasSubstr("spec.pricePerGpuHour: is missing"));
}

TEST(PoolManifest, AnAcceleratorOutsideTheCatalogueNeedsAPrice) {
  Json json = document(kPool).value;
  json["spec"]["accelerator"] = "nvidia-of-tomorrow";
  const PoolDeclaration pool = pool_from_manifest(json).value();
  EXPECT_EQ(pool.price_per_gpu, DollarsPerHour(1.10));
  EXPECT_EQ(pool.gpu, std::nullopt);
  json["spec"].erase("pricePerGpuHour");
  EXPECT_THAT(pool_from_manifest(json).error().message, HasSubstr("spec.pricePerGpuHour: is missing"));
}

// The complaints about a manifest that has this label at the path.
std::vector<Error> complaints_about_label(Json manifest, const char* path, const std::string& name,
                                          const std::string& value) {
  manifest[Json::json_pointer(path)] = {{name, value}};
  return check_fields(manifest);
}

void expect_only_labels_of_kubernetes(const Json& manifest, const char* path) {
  using Strings = std::vector<std::string>;
  const std::string longest(63, 'a');
  const auto complaints = [&](const std::string& name, const std::string& value) {
    return complaints_about_label(manifest, path, name, value);
  };
  for (const std::string& name : Strings{"team", "cloud.google.com/Team_1", "example.com/" + longest}) {
    EXPECT_THAT(complaints(name, ""), IsEmpty()) << name;
    EXPECT_THAT(complaints(name, "Green_apples-2.0"), IsEmpty()) << name;
    EXPECT_THAT(complaints(name, longest), IsEmpty()) << name;
    for (const std::string& value : Strings{longest + "a", "green apples", "-green"}) {
      EXPECT_THAT(complaints(name, value), SizeIs(1)) << name << ": " << value;
    }
  }
  for (const std::string& name :
       Strings{"", longest + "a", "my team", "/team", "Example.com/team", "a/b/c", "example.com/"}) {
    EXPECT_THAT(complaints(name, "green"), SizeIs(1)) << name;
  }
}

TEST(PoolManifest, LabelsOfNodesAreThoseThatKubernetesAllows) {
  expect_only_labels_of_kubernetes(document(kPool).value, "/spec/nodeSelector");
}

TEST(JobManifest, LabelsOfPodsAndTheirNodesAreThoseThatKubernetesAllows) {
  const Json job = document(kJob).value;
  expect_only_labels_of_kubernetes(job, "/spec/podTemplate/metadata/labels");
  expect_only_labels_of_kubernetes(job, "/spec/podTemplate/spec/nodeSelector");
}

constexpr const char* kProfile = R"(
apiVersion: sailor.dev/v1alpha1
kind: ModelProfile
metadata: {name: profile}
spec:
  model: tiny-gpt2
  accelerator: nvidia-l4
  precision: FP32
  sequenceLength: 512
  layers: 6
  times:
  - tensorParallel: 1
    microbatchSize: 2
    layers:
    - {first: 0, last: 1, forwardSeconds: "0.001", backwardSeconds: "0", updateSeconds: "1e-4"}
    - {first: 1, last: 6, forwardSeconds: "0.002", backwardSeconds: "0.004", updateSeconds: "1e-4"}
)";

TEST(ProfileManifest, TheTimesOfARangeApplyToEachOfItsLayers) {
  const ModelProfile profile = profile_from_manifest(document(kProfile).value).value();
  const auto& layers = profile.times.at({2, 1});
  ASSERT_EQ(layers.size(), 6U);
  EXPECT_EQ(layers[0].forward, Seconds(0.001));
  EXPECT_EQ(layers[5].backward, Seconds(0.004));
}

TEST(ProfileManifest, HasNoMoreLayersThanAModelMayHave) {
  Json profile = document(kProfile).value;
  profile["spec"]["layers"] = 2'000'000'000;
  EXPECT_THAT(profile_from_manifest(profile).error().message, HasSubstr("spec.layers: 2000000000 is above 1026"));
  profile = document(kProfile).value;
  profile["spec"]["times"] = "often";
  EXPECT_THAT(profile_from_manifest(profile).error().message, HasSubstr("spec.times: "));
}

TEST(ProfileManifest, RangesMustCoverEveryLayerOnce) {
  Json json = document(kProfile).value;
  json["spec"]["times"][0]["layers"][1]["first"] = 2;
  EXPECT_EQ(profile_from_manifest(json).error().message, "spec.times[0].layers: no range covers layer 1 of 6");
  json["spec"]["times"][0]["layers"][1]["first"] = 0;
  EXPECT_THAT(profile_from_manifest(json).error().message, HasSubstr("layer 0 is in two ranges"));
}

TEST(ProfileManifest, TheLayersOfAnEntryMustNotAllTakeNoTime) {
  Json json = document(kProfile).value;
  Json& layers = json["spec"]["times"][0]["layers"];
  layers[1]["forwardSeconds"] = "0";
  layers[1]["backwardSeconds"] = "0";
  EXPECT_TRUE(profile_from_manifest(json)) << "a coarse clock may measure 0 s for some layers";
  layers[0]["forwardSeconds"] = "0";
  EXPECT_EQ(profile_from_manifest(json).error().message,
            "spec.times[0].layers: all passes of microbatches of 2 with tensor-parallel size 1 take 0 s; measure this "
            "entry again");
}

TEST(ProfileManifest, TheTimeOfTheMeasurementIsATimeOfRfc3339) {
  Json json = document(kProfile).value;
  for (const char* time : {"2025-06-01T12:00:00Z", "2024-02-29t23:59:59.25z", "2025-06-01T12:00:00+02:00"}) {
    json["spec"]["measuredAt"] = time;
    EXPECT_THAT(check_fields(json), IsEmpty()) << time;
  }
  for (const char* time : {"", "2025-06-01", "2025-06-01 12:00:00Z", "2025-06-01T12:00:00", "2025-02-29T12:00:00Z",
                           "2025-06-01T24:00:00Z", "2025-06-01T12:60:00Z", "2025-06-01T12:00:60Z"}) {
    json["spec"]["measuredAt"] = time;
    EXPECT_THAT(check_fields(json), SizeIs(1)) << time;
  }
}

TEST(NetworkManifest, FieldsReplaceTheDefaultsAndOtherDefaultsRemain) {
  const auto network = network_from_manifest(document("kind: NetworkModel\nspec:\n"
                                                      "  tiers: {zone: {gigabytesPerSecond: \"12\"}}\n"
                                                      "  pairs: [{from: us-central1-a, to: us-west1-b, "
                                                      "gigabytesPerSecond: \"0.6\"}]\n")
                                                 .value)
                           .value();
  EXPECT_EQ(network.tier(NetworkTier::kZone).bandwidth, gigabytes_per_second(12));
  EXPECT_EQ(network.tier(NetworkTier::kZone).latency, google_cloud_network().tier(NetworkTier::kZone).latency);
  EXPECT_EQ(network.between(Location::of(Zone("us-west1-b")), Location::of(Zone("us-central1-a"))).bandwidth,
            gigabytes_per_second(0.6));
  EXPECT_EQ(network.between(Location::of(Zone("us-west1-b")), Location::of(Zone("us-central1-a"))).price,
            google_cloud_network().tier(NetworkTier::kContinent).price);
}

TEST(NetworkManifest, APairThatIsGivenTwiceIsRefused) {
  const auto json = document(
                        "spec: {pairs: [{from: a-1, to: b-1, dollarsPerGigabyte: \"0.1\"}, "
                        "{from: b-1, to: a-1, dollarsPerGigabyte: \"0.2\"}]}")
                        .value;
  EXPECT_THAT(network_from_manifest(json).error().message,
              HasSubstr("spec.pairs[1].to: the pair of b-1 and a-1 is given twice"));
}

TEST(NetworkManifest, AnUnknownTierIsRefused) {
  const auto json = document("spec: {tiers: {planet: {gigabytesPerSecond: \"1\"}}}").value;
  EXPECT_THAT(network_from_manifest(json).error().message, HasSubstr("spec.tiers.planet: is not a tier"));
}

}  // namespace
}  // namespace sailor
