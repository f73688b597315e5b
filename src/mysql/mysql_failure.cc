#include "mysql/mysql_failure.h"

#include <algorithm>
#include <array>

namespace sluice {
namespace {

using Kind = MysqlFailure::Kind;

struct Meaning {
    unsigned int code;
    Kind kind;
    std::string_view what;
};

constexpr std::string_view kFull = "it takes no more connections; raise its max_connections";
constexpr std::string_view kWrite = "it is read-only; name the primary, or make this one writable";
constexpr std::string_view kDisk = "it has no room left; make some";
constexpr std::string_view kLogin =
    "it refused the user or the password, or wants TLS; correct the URL, or create the user";
constexpr std::string_view kGrant = "the user lacks a right; GRANT it";
constexpr std::string_view kTlsNeeded = "it wants TLS; add ssl-mode=required or verify to the URL";
constexpr std::string_view kSpeech = "it does not speak MySQL's protocol; check host and port";
constexpr std::string_view kGone = "the connection was lost";
constexpr std::string_view kWait = "another statement held a lock";
constexpr std::string_view kEnded = "the statement was killed";
constexpr std::string_view kTls =
    "TLS failed; check ssl-mode, the certificates, and that the certificate names the host";
constexpr std::string_view kUnsafe =
    "it asks for the password in clear text; check host and port, or use "
    "ssl-mode=verify";
constexpr std::string_view kValue = "a value does not fit its column; run `sluice migrate`";
constexpr std::string_view kConstraint = "a constraint or a trigger of the table refused a value";
constexpr std::string_view kHost = "it blocks this host; run mariadb-admin flush-hosts there";

constexpr std::string_view kRefusal = "it refused";

// All other codes are reported in the server's own words: errors of the server as unknown, those of
// the client library as refusals.
constexpr std::array kMeanings = {
    Meaning{1020, Kind::kBusy, kWait},
    Meaning{1205, Kind::kBusy, kWait},
    Meaning{1213, Kind::kBusy, kWait},
    Meaning{1317, Kind::kBusy, kEnded},
    Meaning{1969, Kind::kBusy, kEnded},
    Meaning{3024, Kind::kBusy, kEnded},
    Meaning{3101, Kind::kBusy, "a plugin rolled the transaction back, as for a conflict"},
    Meaning{3572, Kind::kBusy, kWait},

    Meaning{1048, Kind::kRows, kValue},
    Meaning{1153, Kind::kRows, "the statement is too long; raise its max_allowed_packet"},
    Meaning{1264, Kind::kRows, kValue},
    Meaning{1265, Kind::kRows, kValue},
    Meaning{1292, Kind::kRows, kValue},
    Meaning{1301, Kind::kRows, "a value is too long; raise its max_allowed_packet"},
    Meaning{1366, Kind::kRows, kValue},
    Meaning{1406, Kind::kRows, kValue},
    Meaning{1452, Kind::kRows, kConstraint},
    Meaning{1526, Kind::kRows, kConstraint},
    Meaning{1644, Kind::kRows, kConstraint},
    Meaning{1690, Kind::kRows, kValue},
    Meaning{3819, Kind::kRows, kConstraint},
    Meaning{4025, Kind::kRows, kConstraint},

    Meaning{1040, Kind::kLost, kFull},
    Meaning{1203, Kind::kLost, kFull},
    Meaning{1226, Kind::kLost, kFull},
    Meaning{1047, Kind::kLost, "it is not ready"},
    Meaning{1053, Kind::kLost, "it shuts down"},
    Meaning{1080, Kind::kLost, kGone},
    Meaning{1152, Kind::kLost, kGone},
    Meaning{1158, Kind::kLost, kGone},
    Meaning{1159, Kind::kLost, kGone},
    Meaning{1160, Kind::kLost, kGone},
    Meaning{1161, Kind::kLost, kGone},
    Meaning{1180, Kind::kLost, "it failed while it committed"},
    Meaning{1184, Kind::kLost, kGone},
    Meaning{1927, Kind::kLost, "the connection was killed"},
    Meaning{2002, Kind::kLost, "nothing answers there; check where it is, and that it runs"},
    Meaning{2003, Kind::kLost, "nothing answers there; check where it is, and that it runs"},
    Meaning{2004, Kind::kLost, "no socket could be made"},
    Meaning{2005, Kind::kLost, "this host is unknown; check its name"},
    Meaning{2006, Kind::kLost, kGone},
    Meaning{2013, Kind::kLost, "the connection was lost, or the answer took too long"},
    Meaning{2014, Kind::kLost, kGone},
    Meaning{2027, Kind::kLost, kSpeech},
    Meaning{2055, Kind::kLost, "the connection was lost, or the answer took too long"},

    Meaning{1021, Kind::kRefused, kDisk},
    Meaning{1026, Kind::kRefused, kDisk},
    Meaning{1030, Kind::kRefused, kRefusal},
    Meaning{1036, Kind::kRefused, kWrite},
    Meaning{1037, Kind::kRefused, kRefusal},
    Meaning{1038, Kind::kRefused, kRefusal},
    Meaning{1041, Kind::kRefused, kRefusal},
    Meaning{1044, Kind::kRefused, kGrant},
    Meaning{1045, Kind::kRefused, kLogin},
    Meaning{1049, Kind::kRefused, "it has no such database; CREATE DATABASE, or correct the URL"},
    Meaning{1054, Kind::kRefused, kRefusal},
    Meaning{1064, Kind::kRefused, kRefusal},
    Meaning{1100, Kind::kRefused, kRefusal},
    Meaning{1114, Kind::kRefused, kDisk},
    Meaning{1129, Kind::kRefused, kHost},
    Meaning{1130, Kind::kRefused, "no user may come from this host; create one that may"},
    Meaning{1136, Kind::kRefused, kRefusal},
    Meaning{1142, Kind::kRefused, kGrant},
    Meaning{1143, Kind::kRefused, kGrant},
    Meaning{1146, Kind::kRefused, kRefusal},
    Meaning{1148, Kind::kRefused, kRefusal},
    Meaning{1193, Kind::kRefused, kRefusal},
    Meaning{1194, Kind::kRefused, kRefusal},
    Meaning{1195, Kind::kRefused, kRefusal},
    Meaning{1223, Kind::kRefused, kRefusal},
    Meaning{1227, Kind::kRefused, kGrant},
    Meaning{1251, Kind::kRefused, kLogin},
    Meaning{1286, Kind::kRefused, kRefusal},
    Meaning{1290, Kind::kRefused, kWrite},
    Meaning{1305, Kind::kRefused, kRefusal},
    Meaning{1356, Kind::kRefused, kRefusal},
    Meaning{1364, Kind::kRefused, kRefusal},
    Meaning{1370, Kind::kRefused, kGrant},
    Meaning{1449, Kind::kRefused, kRefusal},
    Meaning{1698, Kind::kRefused, kLogin},
    Meaning{1785, Kind::kRefused, kRefusal},
    Meaning{1792, Kind::kRefused, kWrite},
    Meaning{1820, Kind::kRefused, kLogin},
    Meaning{1836, Kind::kRefused, kWrite},
    Meaning{1862, Kind::kRefused, kLogin},
    Meaning{1874, Kind::kRefused, kWrite},
    Meaning{1932, Kind::kRefused, kRefusal},
    Meaning{2007, Kind::kRefused, kSpeech},
    Meaning{2012, Kind::kRefused, kSpeech},
    Meaning{2020, Kind::kRefused, "the answer is too long"},
    Meaning{2026, Kind::kRefused, kTls},
    Meaning{2059, Kind::kRefused, "the user's way to log in is not supported; give it another one"},
    Meaning{2061, Kind::kRefused, "the user's way to log in is not supported; give it another one"},
    Meaning{3098, Kind::kRefused, kRefusal},
    Meaning{3100, Kind::kRefused, kRefusal},
    Meaning{3159, Kind::kRefused, kTlsNeeded},
    Meaning{3675, Kind::kRefused, kDisk},
    Meaning{5010, Kind::kRefused, kUnsafe},
};

// 2000 to 2999 and 5000 on are the client library's.
bool is_of_server(unsigned int code) {
    return (code >= 1'000 && code < 2'000) || (code >= 3'000 && code < 5'000);
}

}  // namespace

MysqlFailure mysql_failure(std::string_view server, unsigned int code, std::string_view text) {
    const auto has_code = [&](const Meaning& meaning) { return meaning.code == code; };
    const auto* const known = std::find_if(kMeanings.begin(), kMeanings.end(), has_code);
    const bool is_known = known != kMeanings.end();
    std::string why(server);
    why += ": ";
    why += is_known ? known->what : kRefusal;
    why += " [MySQL: " + std::string(text) + ", " + std::to_string(code) + "]";
    const Kind unlisted = is_of_server(code) ? Kind::kUnknown : Kind::kRefused;
    return {is_known ? known->kind : unlisted, code, std::move(why)};
}

}  // namespace sluice
