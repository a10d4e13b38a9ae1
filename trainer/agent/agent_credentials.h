// AgentCredentials: the files with which an agent proves to the operator, and to the other agents of its job, who it is
// (core/protocol/credentials.h). It reads them again while the agent runs, because the operator replaces them.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>

#include "core/model/error.h"
#include "core/net/tls_settings.h"

namespace sailor::trainer {

// Any thread may call the functions.
class AgentCredentials {
 public:
  // kInvalidArgument: the folder does not contain a CA, and a certificate with its key, as PEM files. After the period
  // they are read again. The kubelet needs up to about two minutes to show a changed Secret, so it need not be short.
  static Result<std::unique_ptr<AgentCredentials>> read(const std::filesystem::path& folder,
                                                        std::chrono::milliseconds period = std::chrono::seconds(10));

  // For the agent's server: the same pointer until the files change.
  std::shared_ptr<const net::TlsSettings> server();
  net::TlsSettings client_of_operator();
  net::TlsSettings client_of_peer();
  std::chrono::sys_seconds expiry();  // of the certificate

 private:
  struct Contents {
    net::TlsSettings tls;
    std::string job_uri;
    std::chrono::sys_seconds expiry;
  };
  AgentCredentials(std::filesystem::path folder, std::chrono::milliseconds period, Contents contents);
  static Result<Contents> read_contents(const std::filesystem::path& folder);
  std::shared_ptr<const Contents> current();

  const std::filesystem::path folder_;
  const std::chrono::milliseconds period_;
  std::mutex mutex_;
  std::shared_ptr<const Contents> contents_;
  std::chrono::steady_clock::time_point next_check_;
};

}  // namespace sailor::trainer
