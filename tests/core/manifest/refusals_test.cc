// Offline validation refuses what the API server refuses, for the same field, and accepts what it accepts.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/manifest/files.h"

namespace sailor {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

INSTANTIATE_TEST_SUITE_P(Refusals, WrongManifest, ::testing::ValuesIn(manifests("tests/crds/invalid")), test_name);
INSTANTIATE_TEST_SUITE_P(Refusals, Example, ::testing::ValuesIn(manifests("crds/examples")), test_name);

}  // namespace
}  // namespace sailor
