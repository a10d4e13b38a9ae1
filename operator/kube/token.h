// Token: a bearer token, either fixed or from a file that Kubernetes rotates. The file is read again every minute.
#pragma once

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>

namespace sailor::kube {

class Token {
 public:
  Token(std::string fixed, std::filesystem::path file) : text_(std::move(fixed)), file_(std::move(file)) {}

  std::string text() {
    const std::scoped_lock lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (!file_.empty() && (is_stale_ || now - read_at_ > std::chrono::minutes(1))) read(now);
    return text_;
  }
  void refused() {  // the server answered 401
    const std::scoped_lock lock(mutex_);
    is_stale_ = true;
  }

 private:
  void read(std::chrono::steady_clock::time_point now) {
    std::ifstream stream(file_);
    std::string fresh{std::istreambuf_iterator<char>(stream), {}};
    while (!fresh.empty() && (std::isspace(static_cast<unsigned char>(fresh.back())) != 0)) fresh.pop_back();
    if (!fresh.empty()) text_ = std::move(fresh);  // the file may be empty during a rotation; then the old token stays
    read_at_ = now;
    is_stale_ = false;
  }

  std::mutex mutex_;
  std::string text_;
  std::filesystem::path file_;
  std::chrono::steady_clock::time_point read_at_;
  bool is_stale_ = true;
};

}  // namespace sailor::kube
