#include "core/net/base64.h"

#include <memory>

#include <openssl/evp.h>

namespace sailor::net {

Result<std::string> decode_base64(std::string_view text) {
  const std::unique_ptr<EVP_ENCODE_CTX, decltype(&EVP_ENCODE_CTX_free)> context(EVP_ENCODE_CTX_new(),
                                                                                &EVP_ENCODE_CTX_free);
  EVP_DecodeInit(context.get());
  std::string bytes(text.size() + 1, '\0');
  auto* const into = reinterpret_cast<unsigned char*>(bytes.data());
  int size = 0;
  int rest = 0;
  if (EVP_DecodeUpdate(context.get(), into, &size, reinterpret_cast<const unsigned char*>(text.data()),
                       static_cast<int>(text.size())) < 0 ||
      EVP_DecodeFinal(context.get(), into + size, &rest) != 1) {
    return fail(ErrorCode::kInvalidArgument, "decoding Base64: the text has other characters or ends too early");
  }
  bytes.resize(static_cast<std::size_t>(size) + static_cast<std::size_t>(rest));
  return bytes;
}

std::string encode_base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // OpenSSL ends it with a zero
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

}  // namespace sailor::net
