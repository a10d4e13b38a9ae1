#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/support/assignments.h"
#include "trainer/data/corpus.h"

namespace sailor::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class T>
void put(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// What preprocess_data.py writes for two documents, of two sequences and of one: 1 2 3 | 4 5, and 6 7 8 9.
struct Index {
  std::string magic = std::string("MMIDIDX\0\0", 9);
  std::uint64_t version = 1;
  std::uint8_t type = 8;  // uint16
  std::vector<std::int32_t> lengths = {3, 2, 4};
  std::vector<std::int64_t> pointers = {0, 6, 10};
  std::vector<std::int64_t> bounds = {0, 2, 3};

  [[nodiscard]] std::string bytes() const {
    std::string bytes = magic;
    put(bytes, version);
    put(bytes, type);
    put(bytes, static_cast<std::uint64_t>(lengths.size()));
    put(bytes, static_cast<std::uint64_t>(bounds.size()));
    for (const auto length : lengths) put(bytes, length);
    for (const auto pointer : pointers) put(bytes, pointer);
    for (const auto bound : bounds) put(bytes, bound);
    return bytes;
  }
};

template <class Token>
std::string nine_tokens() {
  std::string bytes;
  for (int token = 1; token <= 9; ++token) put(bytes, static_cast<Token>(token));
  return bytes;
}

class Megatron : public ::testing::Test {
 protected:
  void write(const std::string& index, const std::string& tokens) {
    std::ofstream(scratch_.folder() / "corpus.idx", std::ios::binary) << index;
    std::ofstream(scratch_.folder() / "corpus.bin", std::ios::binary) << tokens;
  }
  Result<std::unique_ptr<Corpus>> open(const std::string& name = "corpus.bin") {
    return Corpus::open({DataFormat::kMegatron, (scratch_.folder() / name).string()}, 4);
  }
  std::string error() {
    const auto corpus = open();
    return corpus ? "" : corpus.error().message;
  }

  testing::Scratch scratch_;
};

TEST_F(Megatron, ReadsTokensAcrossSequencesAndDocuments) {
  write(Index().bytes(), nine_tokens<std::uint16_t>());
  const auto corpus = open().value();
  EXPECT_EQ(corpus->size(), 9);
  std::vector<std::int64_t> tokens(6);
  corpus->read(2, tokens);
  EXPECT_THAT(tokens, ElementsAre(3, 4, 5, 6, 7, 8));
}

TEST_F(Megatron, IsNamedByItsPrefixToo) {
  write(Index().bytes(), nine_tokens<std::uint16_t>());
  EXPECT_TRUE(open("corpus"));
}

TEST_F(Megatron, ReadsTheTypesOfTokensThatMegatronWrites) {
  Index index;
  index.type = 4;
  index.pointers = {0, 12, 20};
  write(index.bytes(), nine_tokens<std::int32_t>());
  std::vector<std::int64_t> tokens(2);
  open().value()->read(7, tokens);
  EXPECT_THAT(tokens, ElementsAre(8, 9));
}

TEST_F(Megatron, SaysWhatIsWrongWithTheIndex) {
  const std::string tokens = nine_tokens<std::uint16_t>();
  Index index;
  write(index.bytes().substr(0, 40), tokens);
  EXPECT_THAT(error(), HasSubstr("corpus.idx: it is truncated"));
  write("nonsense", tokens);
  EXPECT_THAT(error(), HasSubstr("does not start with the magic bytes of a Megatron index"));
  index.version = 2;
  write(index.bytes(), tokens);
  EXPECT_THAT(error(), HasSubstr("its version is 2"));
  index = {};
  index.type = 7;
  write(index.bytes(), tokens);
  EXPECT_THAT(error(), HasSubstr("code 7, which is not an integer type"));
  index = {};
  index.pointers = {0, 8, 10};
  write(index.bytes(), tokens);
  EXPECT_THAT(error(), HasSubstr("its sequence 1 does not start where the previous one ends"));
  index = {};
  index.bounds = {0, 2};
  write(index.bytes(), tokens);
  EXPECT_THAT(error(), HasSubstr("its last document does not end"));
}

TEST_F(Megatron, NoticesThatTheTokensAreTruncated) {
  write(Index().bytes(), nine_tokens<std::uint16_t>().substr(0, 16));
  EXPECT_THAT(error(), HasSubstr("it describes 18 bytes of tokens, the .bin beside it has 16"));
}

TEST_F(Megatron, NamesTheIndexThatIsMissing) {
  write(Index().bytes(), nine_tokens<std::uint16_t>());
  std::filesystem::remove(scratch_.folder() / "corpus.idx");
  EXPECT_THAT(error(), HasSubstr("corpus.idx: No such file"));
}

}  // namespace
}  // namespace sailor::trainer
