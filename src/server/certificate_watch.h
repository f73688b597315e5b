// Notices that the files of a certificate have been replaced.
#ifndef SLUICE_SERVER_CERTIFICATE_WATCH_H_
#define SLUICE_SERVER_CERTIFICATE_WATCH_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "config/settings.h"

namespace sluice::server {

// The names and the state of a certificate's files. Differs from another one if a file was written
// or replaced in between, also through a symbolic link, by which Kubernetes replaces the files of a
// Secret; or if its owner or permissions were changed.
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
        std::chrono::nanoseconds modified{};
        std::chrono::nanoseconds changed{};  // content or attributes

        bool operator==(const File&) const = default;
    };
    static File look_at(const std::string& path);

    std::array<File, 3> files_;
};

// Why a certificate is loaded again.
enum class CertificateLoad : std::uint8_t {
    kChanged,  // its files have changed
    kRetry,    // the last load failed
};

// Decides when the certificate is loaded again: after a change of its files, and while loading it
// fails, since the cause may lie elsewhere than in the files.
//
// Thread-compatible.
class CertificateWatch {
  public:
    // `files` as they were before they were read.
    explicit CertificateWatch(CertificateFiles files) : files_(std::move(files)) {}

    // Looks at the files. None: there is nothing to load.
    std::optional<CertificateLoad> check(const config::TlsSettings& tls);
    // The load that check() asked for has succeeded, or failed.
    void record(bool is_loaded) { has_failed_ = !is_loaded; }

  private:
    CertificateFiles files_;
    bool has_failed_ = false;
};

// How often a server looks at the files.
inline constexpr std::chrono::seconds kCertificateInterval{10};

}  // namespace sluice::server

#endif  // SLUICE_SERVER_CERTIFICATE_WATCH_H_
