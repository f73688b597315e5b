#include "mysql/sql_text.h"

namespace sluice {

void append_bytes(std::string& sql, std::string_view bytes) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    sql += "x'";
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        sql += kDigits[byte >> 4U];
        sql += kDigits[byte & 15U];
    }
    sql += '\'';
}

std::string sql_bytes(std::string_view bytes) {
    std::string sql;
    append_bytes(sql, bytes);
    return sql;
}

}  // namespace sluice
