#include "core/model/sha256.h"

#include <array>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "core/model/check.h"

namespace sailor {

struct Sha256::Context {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> native{EVP_MD_CTX_new(), &EVP_MD_CTX_free};
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  const bool is_ready = context_->native && EVP_DigestInit_ex(context_->native.get(), EVP_sha256(), nullptr) == 1;
  SAILOR_CHECK(is_ready, "OpenSSL offers no SHA-256");
}

Sha256::~Sha256() = default;

void Sha256::add(std::span<const std::byte> bytes) {
  SAILOR_CHECK(EVP_DigestUpdate(context_->native.get(), bytes.data(), bytes.size()) == 1,
               "SHA-256 of {} bytes by OpenSSL failed", bytes.size());
}

std::string Sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  const bool is_done = EVP_DigestFinal_ex(context_->native.get(), digest.data(), &length) == 1;
  SAILOR_CHECK(is_done, "OpenSSL cannot finish a SHA-256");
  std::string text;
  for (unsigned int i = 0; i < length; ++i) text += fmt::format("{:02x}", digest.at(i));
  return text;
}

std::string sha256_hex(std::string_view text) {
  Sha256 sum;
  sum.add(std::as_bytes(std::span(text)));
  return sum.hex();
}

}  // namespace sailor
