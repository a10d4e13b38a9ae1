// Offline validation refuses what the API server refuses, for the same field, and accepts what it accepts.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/manifest/files.h"
#include "core/manifest/schema.h"
#include "core/manifest/source.h"

namespace sailor {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Manifests that the API server refuses but that are valid in files, with the reason.
constexpr std::string_view kRightInFiles[] = {
    "pool_counts_its_nodes",  // the operator counts nodes; a file must state their number
};

std::vector<fs::path> manifests(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(SAILOR_SOURCE_DIR) / folder)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

// The first line, "# expect: PART OF THE API SERVER'S MESSAGE".
std::string expected_message(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

// The field that a message names; empty if it names none.
std::string field_of(const std::string& message) {
  static const std::regex pattern(R"(spec(\.[A-Za-z0-9]+|\[[0-9]+\])+)");
  std::smatch match;
  return std::regex_search(message, match, pattern) ? match.str() : "";
}

bool is_within(const std::string& one, const std::string& other) {
  return one.starts_with(other) || other.starts_with(one);
}

// Whether the error concerns the field that the API server names, not another one.
bool is_agreement(const std::string& complaint, const std::string& expected) {
  const bool both_miss = complaint.ends_with("is missing") == expected.ends_with("Required value");
  return both_miss && is_within(field_of(complaint), field_of(expected));
}

class WrongManifest : public ::testing::TestWithParam<fs::path> {};
class Example : public ::testing::TestWithParam<fs::path> {};

std::string test_name(const ::testing::TestParamInfo<fs::path>& info) {
  std::string name = info.param.stem().string();
  std::ranges::replace(name, '-', '_');
  return name;
}

TEST_P(WrongManifest, IsRefusedOfflineForTheSameField) {
  const std::string expected = expected_message(GetParam());
  ASSERT_THAT(expected, HasSubstr("# expect: "));
  const bool is_right_in_files = std::ranges::count(kRightInFiles, GetParam().stem().string()) > 0;
  std::vector<std::string> complaints;
  for (const Error& error : validate_file(GetParam()).errors) complaints.push_back(error.message);
  if (is_right_in_files) {
    EXPECT_THAT(complaints, IsEmpty());
    return;
  }
  EXPECT_TRUE(std::ranges::any_of(complaints, [&](const auto& each) { return is_agreement(each, expected); }))
      << "the API server: " << expected << "\noffline: " << fmt::format("{}", fmt::join(complaints, "\n"));
}

TEST_P(Example, IsAcceptedOffline) {
  std::vector<std::string> complaints;
  for (const Error& error : validate_file(GetParam()).errors) complaints.push_back(error.message);
  EXPECT_THAT(complaints, IsEmpty());
}

// The definitions of integers, by the paths that core/manifest/schema.h describes.
using Integers = std::map<std::string, Json>;

void collect_integers(const Json& definition, const std::string& path, Integers& found) {
  if (definition.value("type", "") == "integer") found.emplace(path, definition);
  if (definition.contains("items")) collect_integers(definition.at("items"), path + "[]", found);
  if (!definition.contains("properties")) return;
  for (const auto& [name, field] : definition.at("properties").items()) {
    collect_integers(field, path.empty() ? name : path + "." + name, found);
  }
}

class Definition : public ::testing::TestWithParam<fs::path> {
 protected:
  Definition() {
    const Json spec = read_documents(GetParam()).value().at(0).value.at("spec");
    kind_ = spec.at("names").at("kind").get<std::string>();
    collect_integers(spec.at("versions").at(0).at("schema").at("openAPIV3Schema"), "", integers_);
  }
  std::string kind_;
  Integers integers_;
};

// The API server does not enforce the format, and the operator cannot read a larger number.
TEST_P(Definition, LimitsEveryInt32) {
  EXPECT_FALSE(integers_.empty());
  for (const auto& [path, definition] : integers_) {
    if (definition.value("format", "") != "int32") continue;
    EXPECT_LE(definition.value("maximum", kMaxLong), kMaxInt) << path;
  }
}

TEST_P(Definition, HasTheLimitsOfOfflineValidation) {
  const Schema* schema = find_schema(kind_);
  if (schema == nullptr) GTEST_SKIP() << "users do not write a " << kind_;
  for (const auto& [path, definition] : integers_) {
    if (!path.starts_with("spec.")) continue;
    const Field* field = schema->find(path);
    ASSERT_TRUE(field != nullptr && field->type == FieldType::kInteger && field->rule != nullptr) << path;
    const auto least = definition.at("minimum").get<std::int64_t>();
    const auto most = definition.value("maximum", kMaxLong);
    EXPECT_THAT(field->rule(least), IsEmpty()) << path;
    EXPECT_THAT(field->rule(least - 1), Not(IsEmpty())) << path;
    EXPECT_THAT(field->rule(most), IsEmpty()) << path;
    if (most == kMaxLong) continue;
    EXPECT_THAT(field->rule(most + 1), Not(IsEmpty())) << path;
  }
}

INSTANTIATE_TEST_SUITE_P(Refusals, WrongManifest, ::testing::ValuesIn(manifests("tests/crds/invalid")), test_name);
INSTANTIATE_TEST_SUITE_P(Refusals, Example, ::testing::ValuesIn(manifests("crds/examples")), test_name);
INSTANTIATE_TEST_SUITE_P(Refusals, Definition, ::testing::ValuesIn(manifests("crds")), test_name);

}  // namespace
}  // namespace sailor
