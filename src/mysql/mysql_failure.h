// Why a call to a MySQL or MariaDB came to nothing.
#ifndef SLUICE_MYSQL_MYSQL_FAILURE_H_
#define SLUICE_MYSQL_MYSQL_FAILURE_H_

#include <string>
#include <string_view>
#include <variant>

namespace sluice {

struct MysqlFailure {
    enum class Kind {
        kBusy,     // a deadlock, a lock that others held too long, a statement that was ended: it
                   // was rolled back, and the connection goes on
        kRows,     // a value of the statement does not fit its column or a constraint, or the
                   // statement is too long: others may be accepted
        kLost,     // no answer, or none any more: the statement may have been run or not
        kRefused,  // an answer that stays the same until somebody changes something
        kUnknown,  // an error of the server that is none of the above, as far as is known; the
                   // connection goes on
    };
    Kind kind;
    unsigned int code;  // of the server or the client library
    std::string why;    // for people; names the server and what to do, and holds no secret
};

template <class T>
using MysqlResult = std::variant<T, MysqlFailure>;

// What the error `code` with this text, of a server shown as `server`, means and asks for.
MysqlFailure mysql_failure(std::string_view server, unsigned int code, std::string_view text);

}  // namespace sluice

#endif  // SLUICE_MYSQL_MYSQL_FAILURE_H_
