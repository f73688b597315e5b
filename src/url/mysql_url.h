// The URL of a MySQL or MariaDB database: server, login, TLS and database name.
#ifndef SLUICE_URL_MYSQL_URL_H_
#define SLUICE_URL_MYSQL_URL_H_

#include <sluice/result.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice {

enum class MysqlTls {
    kDisabled,
    kRequired,  // encrypted, but the server's certificate is not checked
    kVerify,  // the certificate must be signed by `ca`, or by one that the system trusts, and name
              // the host
};

struct MysqlUrl {
    std::string user;  // empty: the name of the user that runs this process
    std::string password;
    std::string host;  // an IPv6 address stands here without its brackets
    std::uint16_t port = 3306;
    std::string socket_path;  // of a unix socket, instead of host and port; empty: none
    std::string database;     // never empty
    MysqlTls tls = MysqlTls::kDisabled;
    std::string ca;    // PEM files; empty: none
    std::string cert;  // the client's certificate, with its key
    std::string key;

    // For people and logs: without the password and the options, except the socket.
    std::string shown() const;
};

// Reads
//
//     mysql://[user[:password]@]host[:port]/database[?option=value&...]
//
// with these options:
//
//     socket=/path                            a unix socket; the host may be left out
//     ssl-mode=disabled | required | verify   disabled if there is none
//     ssl-ca=FILE                             with verify
//     ssl-cert=FILE & ssl-key=FILE            with required or verify
//
// Every part but host and port may hold any byte but zero as %XX. The error says what is wrong and
// what is allowed, and repeats nothing of `text`: it may hold a password.
Result<MysqlUrl> parse_mysql_url(std::string_view text);

}  // namespace sluice

#endif  // SLUICE_URL_MYSQL_URL_H_
