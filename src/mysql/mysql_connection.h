// A connection to a MySQL or MariaDB server, and values as they appear in the text of a statement.
#ifndef SLUICE_MYSQL_MYSQL_CONNECTION_H_
#define SLUICE_MYSQL_MYSQL_CONNECTION_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "mysql/mysql_failure.h"
#include "url/mysql_url.h"

struct st_mysql;

namespace sluice {

// Appends bytes as a literal, for any character set and mode of the session: _binary'...', or
// x'...' where some need quoting.
void append_bytes(std::string& sql, std::string_view bytes);
std::string sql_bytes(std::string_view bytes);

// Milliseconds since 1970 by the server's clock, when the statement began.
inline constexpr std::string_view kSqlNow = "CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS UNSIGNED)";

struct MysqlOptions {
    MysqlUrl url;
    // For the connection, and again for the server's greeting.
    std::chrono::seconds connect_timeout{3};
    // For each piece of an answer. A statement whose answer takes longer is given up, as lost.
    std::chrono::seconds answer_timeout{10};
    // For each lock; shorter than answer_timeout, or the reason of the failure would be unknown.
    std::chrono::seconds lock_timeout{5};
};

// A row of an answer. Columns count from 0. It lives until the next one is read.
class MysqlRow {
  public:
    MysqlRow(std::span<const char* const> columns, const unsigned long* sizes)
        : columns_(columns), sizes_(sizes) {}

    int columns() const { return static_cast<int>(columns_.size()); }

    // Empty where it is NULL.
    std::string_view bytes(int column) const;
    // 0 where it is NULL or no number from -2^63 to 2^63 - 1.
    std::int64_t number(int column) const;

  private:
    std::span<const char* const> columns_;
    const unsigned long* sizes_;
};

// MysqlConnection never reconnects by itself: the settings of the session would be lost unnoticed.
// The session's time zone is UTC, its isolation level READ COMMITTED, and each statement is a
// transaction unless one was begun.
//
// After a failure that is kLost or kRefused the connection is closed, unless only a right is
// missing.
//
// Thread-compatible, but for interrupt(), which any thread may call at any time.
class MysqlConnection {
  public:
    explicit MysqlConnection(MysqlOptions options);
    ~MysqlConnection();
    MysqlConnection(const MysqlConnection&) = delete;
    MysqlConnection& operator=(const MysqlConnection&) = delete;

    // Closes an open connection, and connects.
    [[nodiscard]] std::optional<MysqlFailure> connect();
    void disconnect();
    bool is_connected() const { return handle_ != nullptr; }

    // Runs a statement; on a connection that is closed that is a failure. Returns how many rows it
    // inserted, changed or deleted; rows that it answers are dropped.
    MysqlResult<std::uint64_t> run(std::string_view sql);

    // Sends a statement that answers no rows, and leaves its answer to the next call, which fails
    // if the statement did. If it can't be sent, the connection is closed.
    void run_later(std::string_view sql);

    // Runs a query and shows each row as it arrives. After a failure some may have been shown.
    using Visit = std::function<void(const MysqlRow&)>;
    [[nodiscard]] std::optional<MysqlFailure> query(std::string_view sql, const Visit& visit);

    // The first column of the first row; none if there is no row, or NULL in it.
    MysqlResult<std::optional<std::int64_t>> number(std::string_view sql);

    // Ends the current call soon, and fails all later ones. A call that is connecting ends with its
    // timeout.
    void interrupt();

    const MysqlUrl& url() const { return options_.url; }

  private:
    struct Close {
        void operator()(st_mysql* handle) const;
    };

    void set_options();
    void set_tls();
    [[nodiscard]] std::optional<MysqlFailure> log_in();
    [[nodiscard]] std::optional<MysqlFailure> set_session();
    [[nodiscard]] bool keep_socket();
    // Reads the answer of run_later().
    [[nodiscard]] std::optional<MysqlFailure> finish_last();
    // Sends the statement and waits for the beginning of its answer.
    [[nodiscard]] std::optional<MysqlFailure> send(std::string_view sql);
    // The error of the last call to the client library.
    MysqlFailure last_failure() const;
    // Closes the connection if it can't be used after such a failure.
    MysqlFailure settled(MysqlFailure failure);
    MysqlFailure interrupted() const;
    bool is_interrupted();

    const MysqlOptions options_;
    std::unique_ptr<st_mysql, Close> handle_;
    bool is_answer_due_ = false;  // of run_later()

    Mutex mutex_;
    // A duplicate of the connection's socket: the library may close its own at any time, and its
    // number may then belong to another thread. -1: none.
    int socket_ SLUICE_GUARDED_BY(mutex_) = -1;
    bool interrupted_ SLUICE_GUARDED_BY(mutex_) = false;
};

}  // namespace sluice

#endif  // SLUICE_MYSQL_MYSQL_CONNECTION_H_
