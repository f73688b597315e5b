// SQLite's C interface with owners for what it hands out, and errors that tell what to do.
#ifndef SLUICE_OVERRIDES_SQLITE_DATABASE_H_
#define SLUICE_OVERRIDES_SQLITE_DATABASE_H_

#include <sluice/result.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <sqlite3.h>

namespace sluice::overrides {

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
    // Runs to the end, dropping rows, and makes ready to run again. SQLITE_DONE, or an error's
    // code.
    int run();

    // Columns of the present row count from 0.
    std::string bytes(int column) const;
    std::int64_t number(int column) const;

  private:
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
    };
    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// Thread-compatible.
class Database {
  public:
    // Creates the file if it isn't there.
    static Result<Database> open(const std::string& path);

    // Runs statements that take no parameters, and drops their rows.
    [[nodiscard]] std::optional<Error> run(const char* sql);
    Result<Statement> prepare(std::string_view sql);
    // The first column of the first row; 0 if there is no row.
    Result<std::int64_t> number(std::string_view sql);

    // What the call that just answered `code` means for this file.
    Error error(int code) const;

    sqlite3* handle() { return handle_.get(); }

  private:
    struct Close {
        void operator()(sqlite3* handle) const { sqlite3_close(handle); }
    };
    Database(std::string path, sqlite3* handle) : path_(std::move(path)), handle_(handle) {}

    std::string path_;
    std::unique_ptr<sqlite3, Close> handle_;
};

}  // namespace sluice::overrides

#endif  // SLUICE_OVERRIDES_SQLITE_DATABASE_H_
