#include "mysql/sql_text.h"

#include <algorithm>

namespace sluice {

namespace {

// Whether they can stand between quotes as they are, whatever the session's settings.
bool are_plain(std::string_view bytes) {
    return std::ranges::all_of(
        bytes, [](char c) { return c >= ' ' && c <= '~' && c != '\'' && c != '\\'; });
}

}  // namespace

void append_bytes(std::string& sql, std::string_view bytes) {
    if (are_plain(bytes)) {
        sql += "_binary'";
        sql += bytes;
        sql += '\'';
        return;
    }
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
