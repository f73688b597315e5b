#include "server/certificate.h"

#include <cstdlib>
#include <stdexcept>

namespace sluice::server_test {

Certificate make_certificate(const ScratchFolder& folder,
                             const std::string& file,
                             const std::string& name) {
    const Certificate made = {folder.path(file + ".crt"), folder.path(file + ".key")};
    const std::string command =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "
        "/CN=" +
        name + " -addext subjectAltName=IP:127.0.0.1 -out " + made.cert + " -keyout " + made.key +
        " 2>/dev/null";
    if (std::system(command.c_str()) != 0)
        throw std::runtime_error("openssl could not make a certificate");
    return made;
}

}  // namespace sluice::server_test
