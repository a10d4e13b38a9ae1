#include "trainer/agent/agent_credentials.h"

#include <fstream>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "core/log/log.h"
#include "core/net/certificate_authority.h"
#include "core/protocol/credentials.h"

namespace sailor::trainer {
namespace {

Result<std::string> read_text(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (stream.bad() || text.empty())
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} cannot be read, or is empty", file.string()));
  return text;
}

}  // namespace

AgentCredentials::AgentCredentials(std::filesystem::path folder, std::chrono::milliseconds period, Contents contents)
    : folder_(std::move(folder)),
      period_(period),
      contents_(std::make_shared<const Contents>(std::move(contents))),
      next_check_(std::chrono::steady_clock::now() + period) {}

Result<std::unique_ptr<AgentCredentials>> AgentCredentials::read(const std::filesystem::path& folder,
                                                                 std::chrono::milliseconds period) {
  auto contents = read_contents(folder);
  if (!contents) return tl::unexpected(std::move(contents).error().within("reading the agent's credentials"));
  return std::unique_ptr<AgentCredentials>(new AgentCredentials(folder, period, *std::move(contents)));
}

Result<AgentCredentials::Contents> AgentCredentials::read_contents(const std::filesystem::path& folder) {
  Contents contents;
  for (const auto& [file, text] : {std::pair{kCaFile, &contents.tls.ca}, std::pair{kKeyFile, &contents.tls.key},
                                   std::pair{kCertificateFile, &contents.tls.certificate}}) {
    auto read = read_text(folder / file);
    if (!read) return tl::unexpected(std::move(read).error());
    *text = *std::move(read);
  }
  if (auto usable = net::check_usable(contents.tls); !usable) return tl::unexpected(std::move(usable).error());
  const auto expiry = net::expiry_of(contents.tls.certificate);
  if (!expiry) return tl::unexpected(expiry.error());
  contents.expiry = *expiry;
  contents.job_uri = net::uri_of(contents.tls.certificate);
  return contents;
}

std::shared_ptr<const AgentCredentials::Contents> AgentCredentials::current() {
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (now < next_check_) return contents_;
  next_check_ = now + period_;
  auto read = read_contents(folder_);
  if (!read) {
    log_warning("credentials not read again", {{"folder", folder_.string()}, {"why", read.error().message}});
  } else if (read->tls.certificate != contents_->tls.certificate || read->tls.ca != contents_->tls.ca) {
    contents_ = std::make_shared<const Contents>(*std::move(read));
    log_info("credentials replaced", {{"folder", folder_.string()}});
  }
  return contents_;
}

std::shared_ptr<const net::TlsSettings> AgentCredentials::server() {
  auto contents = current();
  const net::TlsSettings& tls = contents->tls;
  return {std::move(contents), &tls};
}

net::TlsSettings AgentCredentials::client_of_operator() {
  net::TlsSettings tls = current()->tls;
  tls.server_uri = operator_uri();
  return tls;
}

net::TlsSettings AgentCredentials::client_of_peer() {
  const auto contents = current();
  net::TlsSettings tls = contents->tls;
  tls.server_uri = contents->job_uri;
  return tls;
}

std::chrono::sys_seconds AgentCredentials::expiry() { return current()->expiry; }

}  // namespace sailor::trainer
