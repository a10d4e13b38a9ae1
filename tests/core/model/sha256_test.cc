#include "core/model/sha256.h"

#include <gtest/gtest.h>

namespace sailor {
namespace {

// The examples of FIPS 180-2.
TEST(Sha256, AgreesWithTheStandard) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Sha256, BytesMayComeInParts) {
  Sha256 sum;
  for (const std::string_view part : {"a", "", "bc"}) sum.add(std::as_bytes(std::span(part)));
  EXPECT_EQ(sum.hex(), sha256_hex("abc"));
}

}  // namespace
}  // namespace sailor
