#include "core/net/base64.h"

#include <gtest/gtest.h>

namespace sailor::net {
namespace {

TEST(Base64, DecodesTextsOfAnyLength) {
  EXPECT_EQ(decode_base64("").value(), "");
  EXPECT_EQ(decode_base64("Zg==").value(), "f");
  EXPECT_EQ(decode_base64("Zm8=").value(), "fo");
  EXPECT_EQ(decode_base64("Zm9v").value(), "foo");
  EXPECT_EQ(decode_base64("AP8=").value(), std::string("\0\xff", 2));
}

TEST(Base64, SkipsLineEnds) { EXPECT_EQ(decode_base64("Zm9v\nYmFy\n").value(), "foobar"); }

TEST(Base64, RefusesTextThatIsNotBase64) {
  EXPECT_EQ(decode_base64("not base64!").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(decode_base64("Zm9").error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace sailor::net
