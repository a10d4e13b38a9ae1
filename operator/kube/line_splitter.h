// LineSplitter: cuts a stream of chunks into lines. A watch sends one JSON object per line.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace sailor::kube {

class LineTooLong : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class LineSplitter {
 public:
  // A line longer than the limit is a fault of the server, because etcd stores no object above 1.5 MB.
  explicit LineSplitter(std::size_t limit = 16U << 20U) : limit_(limit) {}

  // Calls the sink for every line that is complete by now, without its end ("\n" or "\r\n"); empty lines are skipped.
  void feed(std::string_view chunk, const std::function<void(std::string_view)>& sink) {
    for (std::size_t end = chunk.find('\n'); end != std::string_view::npos; end = chunk.find('\n')) {
      take(chunk.substr(0, end));
      chunk.remove_prefix(end + 1);
      std::string line = std::move(pending_);  // the sink may throw: nothing of this line stays behind
      pending_.clear();
      if (line.ends_with('\r')) line.pop_back();
      if (!line.empty()) sink(line);
    }
    take(chunk);
  }

 private:
  void take(std::string_view part) {
    if (pending_.size() + part.size() > limit_) throw LineTooLong("a line of a watch exceeds its limit");
    pending_ += part;
  }

  std::size_t limit_;
  std::string pending_;
};

}  // namespace sailor::kube
