#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/trainer/support/assignments.h"
#include "trainer/data/batches.h"
#include "trainer/data/corpus.h"
#include "trainer/data/sample_order.h"

namespace sailor::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void write(const std::filesystem::path& file, std::string_view content) {
  std::ofstream(file, std::ios::binary) << content;
}

std::string error_of(const DataSpec& data, int sequence_length = 4) {
  const auto corpus = Corpus::open(data, sequence_length);
  return corpus ? "" : corpus.error().message;
}

TEST(SampleOrder, AnEpochVisitsEveryWindowOnceAndEachEpochInAnOrderOfItsOwn) {
  for (const std::int64_t windows : {1, 2, 5, 16, 17, 1000}) {
    const SampleOrder order(3, windows, 1);
    std::vector<std::int64_t> first, second;
    for (std::int64_t step = 0; step < windows; ++step) first.push_back(order.window(step, 0));
    for (std::int64_t step = 0; step < windows; ++step) second.push_back(order.window(windows + step, 0));
    const std::set<std::int64_t> visited(first.begin(), first.end());
    EXPECT_EQ(std::ssize(visited), windows);
    EXPECT_EQ(*visited.rbegin(), windows - 1);
    EXPECT_TRUE(std::ranges::is_permutation(first, second));
    EXPECT_EQ(first == second, windows < 3) << windows << " windows";
  }
}

TEST(SampleOrder, DependsOnTheSeed) {
  const SampleOrder a(1, 1000, 8), b(2, 1000, 8);
  int equal = 0;
  for (int i = 0; i < 100; ++i) equal += a.window(i, i % 8) == b.window(i, i % 8) ? 1 : 0;
  EXPECT_LT(equal, 5);
}

TEST(Corpus, ReadsAcrossFilesInTheOrderOfTheirNames) {
  const testing::Scratch scratch;
  write(scratch.folder() / "b.dat", "defg");
  write(scratch.folder() / "a.dat", "abc");
  write(scratch.folder() / "c.dat", "");
  write(scratch.folder() / "d.dat", "h");
  const auto corpus = Corpus::open({DataFormat::kBytes, (scratch.folder() / "*.dat").string()}, 4);
  ASSERT_TRUE(corpus);
  EXPECT_EQ((*corpus)->size(), 8);
  std::vector<std::int64_t> tokens(6);
  (*corpus)->read(2, tokens);
  EXPECT_THAT(tokens, ElementsAre('c', 'd', 'e', 'f', 'g', 'h'));
}

TEST(Corpus, ReadsTokensOfTwoAndFourBytes) {
  const testing::Scratch scratch;
  write(scratch.folder() / "a.bin", std::string_view("\x01\x00\x02\x01\x03\x00\x04\x00\x05\x00\x06\x00", 12));
  const auto narrow = Corpus::open({DataFormat::kTokens, (scratch.folder() / "a.bin").string()}, 4);
  ASSERT_TRUE(narrow);
  std::vector<std::int64_t> tokens(2);
  (*narrow)->read(0, tokens);
  EXPECT_THAT(tokens, ElementsAre(1, 258));
  write(scratch.folder() / "a.u32.bin", std::string_view("\x01\x00\x01\x00\x02\x00\x00\x00\x03\x00\x00\x00", 12));
  const auto wide = Corpus::open({DataFormat::kTokens, (scratch.folder() / "a.u32.bin").string()}, 2);
  ASSERT_TRUE(wide);
  (*wide)->read(0, tokens);
  EXPECT_THAT(tokens, ElementsAre(65537, 2));
}

// Bytes of memory that this process has: of a mapped file, the pages that it has read.
std::int64_t resident() {
  std::ifstream stream("/proc/self/statm");
  std::int64_t pages = 0;
  stream >> pages >> pages;
  return pages * ::sysconf(_SC_PAGESIZE);
}

TEST(Corpus, ReadsOnlyTheRequestedPagesOfAFileLargerThanMemory) {
  const testing::Scratch scratch;
  const std::filesystem::path file = scratch.folder() / "large.bin";
  write(file, "");
  const std::int64_t larger = std::int64_t{2} * ::sysconf(_SC_PHYS_PAGES) * ::sysconf(_SC_PAGESIZE);
  std::error_code refused;
  std::filesystem::resize_file(file, static_cast<std::uintmax_t>(larger), refused);  // of holes, but for its end
  if (refused) GTEST_SKIP() << "skipped: no file of " << larger << " bytes can be made here: " << refused.message();
  std::fstream(file, std::ios::binary | std::ios::in | std::ios::out).seekp(larger - 4).write("\x07\x00\x01\x02", 4);
  const std::int64_t before = resident();
  const auto corpus = Corpus::open({DataFormat::kTokens, file.string()}, 4);
  ASSERT_TRUE(corpus);
  EXPECT_EQ((*corpus)->size(), larger / 2);
  std::vector<std::int64_t> tokens(3);
  (*corpus)->read(larger / 2 - 3, tokens);
  EXPECT_THAT(tokens, ElementsAre(0, 7, 513));
  (*corpus)->read(larger / 4, tokens);
  EXPECT_THAT(tokens, ElementsAre(0, 0, 0));
  EXPECT_LT(resident() - before, 16 << 20);
}

TEST(Corpus, SaysWhatIsWrongWithThePath) {
  const testing::Scratch scratch;
  EXPECT_THAT(error_of({DataFormat::kBytes, "/nonexistent/*"}), HasSubstr("no file matches"));
  EXPECT_THAT(error_of({DataFormat::kBytes, scratch.folder().string()}), HasSubstr("only folders"));
  write(scratch.folder() / "short", "ab");
  EXPECT_THAT(error_of({DataFormat::kBytes, (scratch.folder() / "short").string()}), HasSubstr("2 tokens, fewer"));
  write(scratch.folder() / "odd.bin", "abc");
  EXPECT_THAT(error_of({DataFormat::kTokens, (scratch.folder() / "odd.bin").string()}), HasSubstr("truncated"));
  write(scratch.folder() / "nothing", "");
  EXPECT_THAT(error_of({DataFormat::kBytes, (scratch.folder() / "nothing").string()}), HasSubstr("are empty"));
}

TEST(Corpus, AnEmptyFileBesideOthersAddsNothing) {
  const testing::Scratch scratch;
  write(scratch.folder() / "a.bytes", "ab");
  write(scratch.folder() / "b.bytes", "");
  write(scratch.folder() / "c.bytes", "c");
  const auto corpus = Corpus::open({DataFormat::kBytes, (scratch.folder() / "*.bytes").string()}, 2);
  ASSERT_TRUE(corpus) << corpus.error().message;
  EXPECT_EQ((*corpus)->size(), 3);
}

TEST(Corpus, APipeIsRefusedInsteadOfWaitedFor) {
  const testing::Scratch scratch;
  const std::string pipe = (scratch.folder() / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(Corpus::open({.format = DataFormat::kBytes, .path = pipe}, 4).error().message,
              HasSubstr("not a regular file"));
}

TEST(Batches, TargetsAreTheTokensThatFollow) {
  const testing::Scratch scratch;
  write(scratch.folder() / "text", "abcdefghijklm");  // three windows of four and the last target
  const TrainingSpec training{.global_batch_size = 3, .sequence_length = 4, .steps = 1};
  const auto batches = Batches::open({DataFormat::kBytes, (scratch.folder() / "text").string()}, training, 256);
  ASSERT_TRUE(batches);
  const auto batch = (*batches)->microbatch(0, 0, 3);
  ASSERT_TRUE(batch);
  ASSERT_EQ(batch->tokens.size(), 12U);
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(batch->targets[i], batch->tokens[i] + 1);
  std::set<std::int64_t> starts = {batch->tokens[0], batch->tokens[4], batch->tokens[8]};
  EXPECT_THAT(starts, ElementsAre('a', 'e', 'i'));
}

std::unique_ptr<Batches> alphabet(const testing::Scratch& scratch, const ValidationSpec& validation) {
  write(scratch.folder() / "text", "abcdefghijklmnopqrstu");  // five windows of four and the last target
  const TrainingSpec training{.global_batch_size = 2, .sequence_length = 4, .steps = 1};
  const DataSpec data{DataFormat::kBytes, (scratch.folder() / "text").string(), validation};
  return Batches::open(data, training, 256).value();
}

TEST(Batches, NeverTrainsOnTheValidationFraction) {
  const testing::Scratch scratch;
  const auto batches = alphabet(scratch, {.path = "", .fraction = 0.3});
  std::set<std::int64_t> trained;
  for (int step = 0; step < 20; ++step) {
    const auto batch = batches->microbatch(step, 0, 2).value();
    trained.insert(batch.tokens.begin(), batch.tokens.end());
  }
  EXPECT_EQ(*trained.rbegin(), 'l');  // three windows of the five; the part is rounded up
  const auto batch = batches->validation_microbatch(0, 0, 2).value();
  EXPECT_THAT(batch.tokens, ElementsAre('m', 'n', 'o', 'p', 'q', 'r', 's', 't'));
  EXPECT_EQ(batches->validation_microbatch(1, 0, 2).value().tokens, batch.tokens) << "read again from the first on";
}

TEST(Batches, ValidationMayHaveFilesOfItsOwn) {
  const testing::Scratch scratch;
  write(scratch.folder() / "validation", "0123456789");
  const auto batches = alphabet(scratch, {.path = (scratch.folder() / "validation").string(), .fraction = {}});
  EXPECT_THAT(batches->validation_microbatch(0, 0, 1).value().tokens, ElementsAre('0', '1', '2', '3'));
  EXPECT_THAT(batches->validation_microbatch(0, 1, 1).value().targets, ElementsAre('5', '6', '7', '8'));
}

TEST(Batches, NamesTheFileAndPositionOfATokenOutsideTheVocabulary) {
  const testing::Scratch scratch;
  write(scratch.folder() / "a", "aaaaaa");
  write(scratch.folder() / "b", "aazaa");
  const TrainingSpec training{.global_batch_size = 1, .sequence_length = 10, .steps = 1};
  const auto batches = Batches::open({DataFormat::kBytes, (scratch.folder() / "[ab]").string()}, training, 'b');
  const auto batch = (*batches)->microbatch(0, 0, 1);
  ASSERT_FALSE(batch);
  EXPECT_THAT(batch.error().message, HasSubstr("/b at token 2: token 122 is outside the model's vocabulary of 98"));
}

}  // namespace
}  // namespace sailor::trainer
