#include "core/net/gzip.h"

#include <array>
#include <random>

#include <gtest/gtest.h>
#include <zlib.h>

#include "tests/support/seed.h"

namespace sailor::net {
namespace {

std::string decompressed(std::string compressed) {
  constexpr int kGzipFormat = 16;
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, MAX_WBITS + kGzipFormat), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(compressed.data());
  stream.avail_in = static_cast<uInt>(compressed.size());
  std::string text;
  std::array<char, 4096> part{};
  int state = Z_OK;
  while (state == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = static_cast<uInt>(part.size());
    state = inflate(&stream, Z_NO_FLUSH);
    text.append(part.data(), part.size() - stream.avail_out);
  }
  EXPECT_EQ(state, Z_STREAM_END);
  EXPECT_EQ(stream.avail_in, 0U);
  inflateEnd(&stream);
  return text;
}

TEST(Gzip, OfAnyTextCanBeDecompressed) {
  std::mt19937 random(testing::test_seed());
  std::string text;
  EXPECT_EQ(decompressed(gzip(text)), text);
  for (std::size_t length = 1; length < 1'000'000; length *= 3) {  // does not compress, so it needs several parts
    while (text.size() < length) text += static_cast<char>(random());
    EXPECT_EQ(decompressed(gzip(text)), text);
  }
}

TEST(Gzip, MakesTextThatRepeatsItselfMuchShorter) {
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += "sailor_job_step{job=\"job-" + std::to_string(i) + "\"} 1\n";
  const HttpAnswer answer = gzipped({.body = text});
  EXPECT_LT(answer.body.size(), text.size() / 8);
  EXPECT_EQ(answer.content_encoding, "gzip");
  EXPECT_EQ(decompressed(answer.body), text);
}

}  // namespace
}  // namespace sailor::net
