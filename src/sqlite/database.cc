#include "sqlite/database.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::sqlite {
namespace {

std::string system_reason(sqlite3* handle) {
    const int number = handle == nullptr ? 0 : sqlite3_system_errno(handle);
    return number == 0 ? "" : " (" + std::generic_category().message(number) + ")";
}

std::string_view meaning_of_busy(Use use) {
    if (use == Use::kShared) return "other processes held it for too long; it is tried again";
    return "another process uses it; a data directory serves one server at a time";
}

std::string meaning_of(int code, sqlite3* handle, const File& file) {
    switch (code & 0xFF) {
        case SQLITE_FULL:
            return "the disk is full, or the file has reached the size that it may have; nothing "
                   "was changed";
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            return std::string(meaning_of_busy(file.use));
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
            return "it is damaged or no SQLite database; restore it from a backup, or move it away "
                   "to begin without " +
                   file.purpose;
        case SQLITE_CANTOPEN:
            return "it can't be opened or created" + system_reason(handle) +
                   "; its folder must exist and be writable";
        case SQLITE_READONLY:
        case SQLITE_PERM:
            return "it may not be written" + system_reason(handle);
        case SQLITE_IOERR:
            return "reading or writing it failed" + system_reason(handle);
        case SQLITE_NOMEM:
            return "there is no memory left for it";
        default:
            return "SQLite refused";
    }
}

// Creates a missing file for this user alone, whatever the umask. SQLite gives its companions, -wal
// and -shm, the mode of the file itself. What goes wrong here SQLite finds, too, and reports.
void create_private(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (file < 0) return;
    ::fchmod(file, S_IRUSR | S_IWUSR);
    ::close(file);
}

}  // namespace

Statement& Statement::bind(int parameter, std::string_view bytes) {
    // A null pointer would be bound as NULL, which equals nothing.
    const char* const data = bytes.empty() ? "" : bytes.data();
    sqlite3_bind_blob64(statement_.get(), parameter, data, bytes.size(), SQLITE_STATIC);
    return *this;
}

Statement& Statement::bind(int parameter, std::int64_t number) {
    sqlite3_bind_int64(statement_.get(), parameter, number);
    return *this;
}

int Statement::step() {
    return sqlite3_step(statement_.get());
}

void Statement::reset() {
    sqlite3_reset(statement_.get());
}

int Statement::run() {
    return for_each([](const Statement&) {});
}

std::string Statement::bytes(int column) const {
    const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
    const int size = sqlite3_column_bytes(statement_.get(), column);
    return data == nullptr ? std::string() : std::string(data, static_cast<std::size_t>(size));
}

std::int64_t Statement::number(int column) const {
    return sqlite3_column_int64(statement_.get(), column);
}

Result<Database> Database::open(File file) {
    create_private(file.path);
    sqlite3* handle = nullptr;
    // Its callers see to it that one thread at a time uses a connection.
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    const int code = sqlite3_open_v2(file.path.c_str(), &handle, flags, nullptr);
    Database database(std::move(file), handle);
    if (code != SQLITE_OK) return database.error(code);
    sqlite3_extended_result_codes(handle, 1);
    return database;
}

void Database::set_busy_timeout(std::chrono::milliseconds timeout) {
    sqlite3_busy_timeout(handle_.get(), static_cast<int>(timeout.count()));
}

std::optional<Error> Database::limit_size(std::int64_t max_bytes) {
    const auto page_bytes = number("PRAGMA page_size");
    if (!page_bytes) return page_bytes.error();
    const std::int64_t pages = std::max<std::int64_t>(max_bytes / *page_bytes, 1);
    return run(("PRAGMA max_page_count = " + std::to_string(pages)).c_str());
}

std::optional<Error> Database::check_pages() {
    auto statement = prepare("PRAGMA quick_check(1)");
    if (!statement) return std::move(statement).error();
    const int code = statement->step();
    if (code != SQLITE_ROW) return error(code);
    if (statement->bytes(0) != "ok") return error(SQLITE_CORRUPT);
    return std::nullopt;
}

std::optional<Error> Database::run(const char* sql) {
    const int code = sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
    if (code == SQLITE_OK) return std::nullopt;
    return error(code);
}

Result<Statement> Database::prepare(std::string_view sql) {
    sqlite3_stmt* statement = nullptr;
    const int code = sqlite3_prepare_v3(handle_.get(),
                                        sql.data(),
                                        static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT,
                                        &statement,
                                        nullptr);
    if (code != SQLITE_OK) return error(code);
    return Statement(statement);
}

Result<std::int64_t> Database::number(std::string_view sql) {
    auto statement = prepare(sql);
    if (!statement) return std::move(statement).error();
    const int code = statement->step();
    if (code == SQLITE_ROW) return statement->number(0);
    if (code == SQLITE_DONE) return 0;
    return error(code);
}

Error Database::error(int code) const {
    return error(meaning_of(code, handle_.get(), file_) + " [SQLite: " + sqlite3_errstr(code) +
                 ", " + std::to_string(code) + "]");
}

Error Database::error(const std::string& what) const {
    return {kStoreFailed, file_.purpose + " in " + file_.path + ": " + what};
}

// SQLite itself has rolled back after some errors, and then there is nothing left to do.
Transaction::~Transaction() {
    if (database_.in_transaction()) (void)database_.run("ROLLBACK");
}

}  // namespace sluice::sqlite
