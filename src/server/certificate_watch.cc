#include "server/certificate_watch.h"

#include <sys/stat.h>

namespace sluice::server {

CertificateFiles::CertificateFiles(const config::TlsSettings& tls)
    : files_{look_at(tls.cert), look_at(tls.key), look_at(tls.client_ca)} {}

CertificateFiles::File CertificateFiles::look_at(const std::string& path) {
    File file{.path = path};
    struct stat status {};
    if (path.empty() || ::stat(path.c_str(), &status) != 0) return file;
    file.device = status.st_dev;
    file.inode = status.st_ino;
    file.size = status.st_size;
    file.changed = std::chrono::seconds(status.st_mtim.tv_sec) +
                   std::chrono::nanoseconds(status.st_mtim.tv_nsec);
    return file;
}

}  // namespace sluice::server
