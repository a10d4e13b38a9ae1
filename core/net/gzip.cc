#include "core/net/gzip.h"

#include <array>
#include <limits>
#include <new>

#define ZLIB_CONST  // zlib's pointer to the input points to constant bytes
#include <zlib.h>

#include "core/model/check.h"

namespace sailor::net {
namespace {

// The level from which metrics get hardly smaller but take much longer: levels 1 to 3 take half the time of level 6.
constexpr int kLevel = 3;
constexpr int kGzipFormat = 16;  // added to the size of the window: a header and trailer of gzip instead of zlib
constexpr int kMemory = 8;       // zlib's default
constexpr std::size_t kPart = std::size_t{64} << 10U;  // bytes of output at a time

class Compressor {
 public:
  explicit Compressor(std::string_view text) {
    SAILOR_CHECK(text.size() <= std::numeric_limits<uInt>::max(), "a text of {} bytes is to be compressed",
                 text.size());
    if (deflateInit2(&stream_, kLevel, Z_DEFLATED, MAX_WBITS + kGzipFormat, kMemory, Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::bad_alloc();
    stream_.next_in = reinterpret_cast<const Bytef*>(text.data());
    stream_.avail_in = static_cast<uInt>(text.size());
  }
  ~Compressor() { deflateEnd(&stream_); }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  std::string output() {
    std::string all;
    std::array<char, kPart> part{};
    int state = Z_OK;
    while (state == Z_OK) {
      stream_.next_out = reinterpret_cast<Bytef*>(part.data());
      stream_.avail_out = static_cast<uInt>(part.size());
      state = deflate(&stream_, Z_FINISH);
      all.append(part.data(), part.size() - stream_.avail_out);
    }
    SAILOR_CHECK(state == Z_STREAM_END, "zlib's deflate returned {}", state);
    return all;
  }

 private:
  z_stream stream_{};
};

}  // namespace

std::string gzip(std::string_view text) { return Compressor(text).output(); }

HttpAnswer gzipped(HttpAnswer answer) {
  answer.body = gzip(answer.body);
  answer.content_encoding = "gzip";
  return answer;
}

}  // namespace sailor::net
