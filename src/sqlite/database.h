// A C++ wrapper of SQLite: statements, databases and transactions, and errors that say what to do.
#ifndef SLUICE_SQLITE_DATABASE_H_
#define SLUICE_SQLITE_DATABASE_H_

#include <sluice/result.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <sqlite3.h>

namespace sluice::sqlite {

// A prepared statement. Thread-compatible; must not outlive its database.
class Statement {
  public:
    Statement() = default;
    explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

    // Parameters count from 1. Texts are bound as bytes, and must live until the statement has run.
    Statement& bind(int parameter, std::string_view bytes);
    Statement& bind(int parameter, std::int64_t number);

    // SQLITE_ROW, SQLITE_DONE or an error's code.
    int step();
    // Makes ready to run again, from the beginning.
    void reset();

    // Runs to the end, shows each row and makes ready to run again, also where `visit` throws.
    // SQLITE_DONE, or an error's code.
    template <class Visit>
    int for_each(Visit visit) {
        const ResetAtEnd ready(*this);
        int code = step();
        for (; code == SQLITE_ROW; code = step())
            visit(std::as_const(*this));
        return code;
    }
    // The same, dropping rows.
    int run();

    // Columns of the present row count from 0.
    std::string bytes(int column) const;
    std::int64_t number(int column) const;

  private:
    class ResetAtEnd {
      public:
        explicit ResetAtEnd(Statement& statement) : statement_(statement) {}
        ~ResetAtEnd() { statement_.reset(); }
        ResetAtEnd(const ResetAtEnd&) = delete;
        ResetAtEnd& operator=(const ResetAtEnd&) = delete;

      private:
        Statement& statement_;
    };
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
    };
    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// How a file is used.
enum class Use {
    kAlone,   // one process at a time, which locks it for as long as it lives
    kShared,  // any number of processes, each for the time of a transaction
};

// A database file, and what it is for: its errors begin with both.
struct File {
    std::string path;
    std::string purpose;  // what it holds, as in "overrides"
    Use use = Use::kAlone;
};

// Thread-compatible, but for interrupt().
class Database {
  public:
    // Creates the file if it isn't there, with mode 0600 whatever the umask.
    static Result<Database> open(File file);

    // How long to wait for another process to release the file.
    void set_busy_timeout(std::chrono::milliseconds timeout);
    // Limits the size of the file.
    [[nodiscard]] std::optional<Error> limit_size(std::int64_t max_bytes);
    // Reads the whole file: a damaged page would otherwise show up in the middle of a later write.
    [[nodiscard]] std::optional<Error> check_pages();

    // Runs statements that take no parameters, and drops their rows.
    [[nodiscard]] std::optional<Error> run(const char* sql);
    Result<Statement> prepare(std::string_view sql);
    // The first column of the first row; 0 if there is no row.
    Result<std::int64_t> number(std::string_view sql);

    // How many rows the last statement that ended inserted, changed or deleted.
    std::int64_t changes() const { return sqlite3_changes64(handle_.get()); }
    // The primary result code of the last call to SQLite, such as SQLITE_BUSY.
    int code() const { return sqlite3_errcode(handle_.get()) & 0xFF; }

    // Ends a running statement with SQLITE_INTERRUPT. Any thread may call it while the database is
    // open.
    void interrupt() { sqlite3_interrupt(handle_.get()); }

    const std::string& path() const { return file_.path; }
    bool in_transaction() const { return sqlite3_get_autocommit(handle_.get()) == 0; }

    // The error of a call that returned `code`.
    Error error(int code) const;
    // An error with this text.
    Error error(const std::string& what) const;

  private:
    struct Close {
        void operator()(sqlite3* handle) const { sqlite3_close(handle); }
    };
    Database(File file, sqlite3* handle) : file_(std::move(file)), handle_(handle) {}

    File file_;
    std::unique_ptr<sqlite3, Close> handle_;
};

// A transaction that is rolled back unless it was committed. Statements that ran in it are reset
// before it ends. Thread-compatible; must not outlive its database.
class Transaction {
  public:
    explicit Transaction(Database& database) : database_(database) {}
    ~Transaction();
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;

    [[nodiscard]] std::optional<Error> begin() { return database_.run("BEGIN"); }
    // Takes the write lock here and not at the first write, where waiting for it may fail.
    [[nodiscard]] std::optional<Error> begin_writing() { return database_.run("BEGIN IMMEDIATE"); }
    // An error leaves it to be rolled back.
    [[nodiscard]] std::optional<Error> commit() { return database_.run("COMMIT"); }

  private:
    Database& database_;
};

}  // namespace sluice::sqlite

#endif  // SLUICE_SQLITE_DATABASE_H_
