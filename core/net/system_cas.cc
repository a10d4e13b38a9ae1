#include "core/net/system_cas.h"

#include <cstdlib>

#include <openssl/x509.h>

namespace sailor::net {

void ignore_system_cas() { setenv(X509_get_default_cert_file_env(), "/dev/null", /*overwrite=*/1); }

}  // namespace sailor::net
