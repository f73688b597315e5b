// Values as they stand in the text of a statement.
#ifndef SLUICE_MYSQL_SQL_TEXT_H_
#define SLUICE_MYSQL_SQL_TEXT_H_

#include <string>
#include <string_view>

namespace sluice {

// Appends any bytes, whatever the character set and the mode of the session: _binary'...', or
// x'...' where some are not plain.
void append_bytes(std::string& sql, std::string_view bytes);
std::string sql_bytes(std::string_view bytes);

// Milliseconds since 1970 by the server's clock, when the statement began.
inline constexpr std::string_view kSqlNow = "CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS UNSIGNED)";

}  // namespace sluice

#endif  // SLUICE_MYSQL_SQL_TEXT_H_
