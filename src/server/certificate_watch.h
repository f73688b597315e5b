// Notices that the files of a certificate have been replaced.
#ifndef SLUICE_SERVER_CERTIFICATE_WATCH_H_
#define SLUICE_SERVER_CERTIFICATE_WATCH_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <string>

#include "config/settings.h"

namespace sluice::server {

// The names and the state of a certificate's files. Differs from another one if a file was written
// or replaced in between, also through a symbolic link, by which Kubernetes replaces the files of a
// Secret.
class CertificateFiles {
  public:
    explicit CertificateFiles(const config::TlsSettings& tls);

    bool operator==(const CertificateFiles&) const = default;

  private:
    struct File {
        std::string path;
        std::uint64_t device = 0;
        std::uint64_t inode = 0;
        std::int64_t size = 0;
        std::chrono::nanoseconds changed{};

        bool operator==(const File&) const = default;
    };
    static File look_at(const std::string& path);

    std::array<File, 3> files_;
};

// How often a server looks at them.
inline constexpr std::chrono::seconds kCertificateInterval{10};

}  // namespace sluice::server

#endif  // SLUICE_SERVER_CERTIFICATE_WATCH_H_
