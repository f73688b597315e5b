#include "mysql/mysql_connection.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fcntl.h>
#include <mariadb/mysql.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sluice {
namespace {

// The client library's codes for a closed connection, a broken one, and any failure of TLS.
constexpr unsigned int kGone = 2006;
constexpr unsigned int kBrokeOff = 2013;
constexpr unsigned int kTlsFailed = 2026;
// The server's code for a statement that it did not read to its end. It closes the connection.
constexpr unsigned int kTooLong = 1153;

// The ways to log in that are allowed before the server is verified. Others would send the password
// in clear text.
constexpr const char* kSafeLogins =
    "mysql_native_password,client_ed25519,caching_sha2_password,sha256_password";

// In strict mode nothing is cut off or rounded silently.
constexpr std::string_view kSession =
    "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00', "
    "autocommit = 1";
constexpr std::string_view kIsolation = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";

// A right that one statement lacks, another may not need.
bool is_missing_right(unsigned int code) {
    return code == 1142 || code == 1143 || code == 1227;
}

bool leaves_connection_open(const MysqlFailure& failure) {
    switch (failure.kind) {
        case MysqlFailure::Kind::kBusy:
        case MysqlFailure::Kind::kUnknown:
            return true;
        case MysqlFailure::Kind::kRows:
            return failure.code != kTooLong;
        case MysqlFailure::Kind::kRefused:
            return is_missing_right(failure.code);
        case MysqlFailure::Kind::kLost:
            return false;
    }
    return false;
}

const char* or_null(const std::string& text) {
    return text.empty() ? nullptr : text.c_str();
}

class Answer {
  public:
    explicit Answer(MYSQL* handle) : rows_(mysql_use_result(handle)) {}
    // Rows that were not read are dropped, so that the connection can be used again.
    ~Answer() { mysql_free_result(rows_); }
    Answer(const Answer&) = delete;
    Answer& operator=(const Answer&) = delete;

    bool has_rows() const { return rows_ != nullptr; }

    // False at the end, and after an error.
    bool show_next(const MysqlConnection::Visit& visit) {
        const MYSQL_ROW columns = mysql_fetch_row(rows_);
        if (columns == nullptr) return false;
        visit(MysqlRow({columns, mysql_num_fields(rows_)}, mysql_fetch_lengths(rows_)));
        return true;
    }

  private:
    MYSQL_RES* const rows_;
};

// Whether the bytes need no quoting, whatever the session's settings.
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

std::string_view MysqlRow::bytes(int column) const {
    const auto at = static_cast<std::size_t>(column);
    if (columns_[at] == nullptr) return {};
    return {columns_[at], sizes_[at]};
}

std::int64_t MysqlRow::number(int column) const {
    const std::string_view text = bytes(column);
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

void MysqlConnection::Close::operator()(st_mysql* handle) const {
    mysql_close(handle);
}

MysqlConnection::MysqlConnection(MysqlOptions options) : options_(std::move(options)) {}

MysqlConnection::~MysqlConnection() {
    disconnect();
}

std::optional<MysqlFailure> MysqlConnection::connect() {
    disconnect();
    if (is_interrupted()) return interrupted();
    handle_.reset(mysql_init(nullptr));
    if (handle_ == nullptr) return mysql_failure(url().shown(), 2008, "no memory is left");
    set_options();
    if (auto failure = log_in()) {
        disconnect();
        return failure;
    }
    if (!keep_socket()) {
        disconnect();
        return interrupted();
    }
    auto failure = set_session();
    // A session without its settings can't be used, however short-lived the reason.
    if (failure) disconnect();
    return failure;
}

void MysqlConnection::disconnect() {
    {
        const MutexLock lock(mutex_);
        if (socket_ >= 0) ::close(socket_);
        socket_ = -1;
    }
    handle_.reset();
    is_answer_due_ = false;
}

void MysqlConnection::set_options() {
    MYSQL* const handle = handle_.get();
    const auto set_seconds = [&](mysql_option option, std::chrono::seconds time) {
        const auto seconds = static_cast<unsigned int>(time.count());
        mysql_options(handle, option, &seconds);
    };
    set_seconds(MYSQL_OPT_CONNECT_TIMEOUT, options_.connect_timeout);
    set_seconds(MYSQL_OPT_READ_TIMEOUT, options_.answer_timeout);
    set_seconds(MYSQL_OPT_WRITE_TIMEOUT, options_.answer_timeout);
    // Otherwise the library takes a unix socket where the host is called localhost.
    const unsigned int way = url().socket_path.empty() ? MYSQL_PROTOCOL_TCP : MYSQL_PROTOCOL_SOCKET;
    mysql_options(handle, MYSQL_OPT_PROTOCOL, &way);
    mysql_options(handle, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    // A server may ask for files of this machine.
    const unsigned int no_files = 0;
    mysql_options(handle, MYSQL_OPT_LOCAL_INFILE, &no_files);
    const my_bool no_reconnect = 0;
    mysql_options(handle, MYSQL_OPT_RECONNECT, &no_reconnect);
    set_tls();
}

void MysqlConnection::set_tls() {
    MYSQL* const handle = handle_.get();
    const MysqlUrl& to = url();
    const bool is_on_the_wire = to.socket_path.empty() && to.tls != MysqlTls::kVerify;
    if (is_on_the_wire) mysql_options(handle, MARIADB_OPT_RESTRICTED_AUTH, kSafeLogins);
    if (to.tls == MysqlTls::kDisabled) return;
    mysql_ssl_set(handle, or_null(to.key), or_null(to.cert), or_null(to.ca), nullptr, nullptr);
    const my_bool enforce = 1;
    const my_bool verify = to.tls == MysqlTls::kVerify ? 1 : 0;
    mysql_options(handle, MYSQL_OPT_SSL_ENFORCE, &enforce);
    mysql_options(handle, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
}

std::optional<MysqlFailure> MysqlConnection::log_in() {
    const MysqlUrl& to = url();
    const MYSQL* const connected = mysql_real_connect(handle_.get(),
                                                      or_null(to.host),
                                                      or_null(to.user),
                                                      to.password.c_str(),
                                                      to.database.c_str(),
                                                      to.port,
                                                      or_null(to.socket_path),
                                                      0);
    if (connected == nullptr) {
        MysqlFailure failure = settled(last_failure());
        if (failure.code == kBrokeOff)
            failure.why += "; check that a MySQL or MariaDB listens there";
        return failure;
    }
    // The library continues without TLS where the server does not offer it, whatever its options.
    const bool is_encrypted = mysql_get_ssl_cipher(handle_.get()) != nullptr;
    if (is_encrypted || to.tls == MysqlTls::kDisabled) return std::nullopt;
    return settled(mysql_failure(to.shown(), kTlsFailed, "the server does not offer it"));
}

bool MysqlConnection::keep_socket() {
    const MutexLock lock(mutex_);
    if (interrupted_) return false;
    socket_ = ::fcntl(mysql_get_socket(handle_.get()), F_DUPFD_CLOEXEC, 0);
    return true;
}

std::optional<MysqlFailure> MysqlConnection::set_session() {
    // Two timeouts: for locks on rows, and for locks on tables that are being altered.
    const std::string seconds = std::to_string(options_.lock_timeout.count());
    const std::string session = std::string(kSession) + ", innodb_lock_wait_timeout = " + seconds +
                                ", lock_wait_timeout = " + seconds;
    if (auto failure = send(session)) return failure;
    return send(kIsolation);
}

std::optional<MysqlFailure> MysqlConnection::send(std::string_view sql) {
    if (is_interrupted()) return interrupted();
    if (auto failure = finish_last()) return failure;
    if (!is_connected()) return mysql_failure(url().shown(), kGone, "not connected");
    if (mysql_real_query(handle_.get(), sql.data(), sql.size()) == 0) return std::nullopt;
    return settled(last_failure());
}

std::optional<MysqlFailure> MysqlConnection::finish_last() {
    if (!std::exchange(is_answer_due_, false)) return std::nullopt;
    if (mysql_read_query_result(handle_.get()) == 0) return std::nullopt;
    return settled(last_failure());
}

void MysqlConnection::run_later(std::string_view sql) {
    if (is_interrupted() || !is_connected() || finish_last()) return;
    is_answer_due_ = mysql_send_query(handle_.get(), sql.data(), sql.size()) == 0;
    if (!is_answer_due_) static_cast<void>(settled(last_failure()));
}

MysqlResult<std::uint64_t> MysqlConnection::run(std::string_view sql) {
    if (auto failure = query(sql, [](const MysqlRow&) {})) return *std::move(failure);
    return mysql_affected_rows(handle_.get());
}

std::optional<MysqlFailure> MysqlConnection::query(std::string_view sql, const Visit& visit) {
    if (auto failure = send(sql)) return failure;
    std::optional<MysqlFailure> failure;
    {
        Answer answer(handle_.get());
        while (answer.has_rows() && answer.show_next(visit)) {
        }
        if (mysql_errno(handle_.get()) == 0) return std::nullopt;
        failure = last_failure();
    }
    return settled(*std::move(failure));
}

MysqlResult<std::optional<std::int64_t>> MysqlConnection::number(std::string_view sql) {
    std::optional<std::int64_t> found;
    const auto take = [&](const MysqlRow& row) {
        if (!found && !row.bytes(0).empty()) found = row.number(0);
    };
    if (auto failure = query(sql, take)) return *std::move(failure);
    return found;
}

MysqlFailure MysqlConnection::last_failure() const {
    return mysql_failure(url().shown(), mysql_errno(handle_.get()), mysql_error(handle_.get()));
}

MysqlFailure MysqlConnection::settled(MysqlFailure failure) {
    const bool goes_on = leaves_connection_open(failure);
    if (!goes_on) disconnect();
    if (failure.kind == MysqlFailure::Kind::kLost && is_interrupted()) return interrupted();
    return failure;
}

MysqlFailure MysqlConnection::interrupted() const {
    return {MysqlFailure::Kind::kLost, kGone, url().shown() + ": the call was ended from here"};
}

bool MysqlConnection::is_interrupted() {
    const MutexLock lock(mutex_);
    return interrupted_;
}

void MysqlConnection::interrupt() {
    const MutexLock lock(mutex_);
    interrupted_ = true;
    if (socket_ >= 0) ::shutdown(socket_, SHUT_RDWR);
}

}  // namespace sluice
