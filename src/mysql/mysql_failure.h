// Failures of calls to a MySQL or MariaDB server, classified by error code.
#ifndef SLUICE_MYSQL_MYSQL_FAILURE_H_
#define SLUICE_MYSQL_MYSQL_FAILURE_H_

#include <string>
#include <string_view>
#include <variant>

namespace sluice {

struct MysqlFailure {
    enum class Kind {
        kBusy,     // a deadlock, a lock timeout, or a statement that was killed: it was rolled
                   // back, and the connection stays open
        kRows,     // a value does not fit its column or a constraint, or the statement is too
                   // long: other statements may be accepted
        kLost,     // unreachable, or the connection broke: the statement may have been run or not
        kRefused,  // needs an operator: the same call would fail again
        kUnknown,  // any other error of the server; the connection stays open
    };
    Kind kind;
    unsigned int code;  // of the server or the client library
    std::string why;    // for operators; names the server and what to do, and holds no secret
};

template <class T>
using MysqlResult = std::variant<T, MysqlFailure>;

// Classifies the error `code` with its text, and adds what to do. `server` is the server's URL as
// shown to operators.
MysqlFailure mysql_failure(std::string_view server, unsigned int code, std::string_view text);

}  // namespace sluice

#endif  // SLUICE_MYSQL_MYSQL_FAILURE_H_
