// The table of components in an SQLite file.
#ifndef SLUICE_REGIONAL_SQLITE_COMPONENT_FILE_H_
#define SLUICE_REGIONAL_SQLITE_COMPONENT_FILE_H_

#include <sluice/result.h>
#include <sluice/time.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "regional/origin.h"
#include "regional/sqlite/sqlite_origin.h"
#include "sqlite/database.h"

namespace sluice {

enum class FileAccess : std::uint8_t { kRead, kWrite };

// ComponentFile holds a row for each cell and owner, with the count and the time at which it
// expires. Expired rows are not read, and are deleted a bounded number at a time.
//
// What it has acknowledged it holds until the process ends, so that counts are never restored here,
// and calls come in order, so that none is of an incarnation that is superseded.
//
// Each call is one transaction. A call that fails has changed nothing but deleted expired rows.
//
// Thread-compatible. Calls block on the disk.
class ComponentFile {
  public:
    static Result<std::unique_ptr<ComponentFile>> open(SqliteOriginOptions options);

    // A sync() of components that are all 0 only reads.
    static FileAccess access_of_sync(const std::vector<KeyComponents>& keys);

    // As in Origin.
    Result<std::vector<KeyTotals>> sync(const std::vector<KeyComponents>& keys);
    Result<std::vector<KeyGrants>> spend(const std::vector<KeySpend>& keys);
    Result<std::vector<CellListing>> list(const std::vector<CellName>& cells);

    // Writes a row. After a write that was refused it also fails while there is no room for a large
    // call, so that a file that is nearly full does not look usable once a second.
    [[nodiscard]] std::optional<Error> heartbeat();

  private:
    struct Statements {
        sqlite::Statement lift;
        sqlite::Statement select;
        sqlite::Statement remove;
        sqlite::Statement expire;
    };

    struct Component {
        std::string node;
        Incarnation incarnation;
        Count count;
        UnixTime expires;
    };

    ComponentFile(SqliteOriginOptions options, sqlite::Database database, Statements statements);

    // The answers of `answer` to each key, in one transaction.
    template <class Answer, class Key, class AnswerKey>
    Result<std::vector<Answer>> for_each_key(FileAccess access,
                                             const std::vector<Key>& keys,
                                             AnswerKey answer);
    // Runs `body`, which returns an error or none, in a transaction.
    template <class Body>
    [[nodiscard]] std::optional<Error> transact(Body body);
    // The same for a body that writes up to `rows` rows. Deletes as many expired ones, and more.
    template <class Body>
    [[nodiscard]] std::optional<Error> write(std::size_t rows, Body body);
    void delete_expired_alone();

    // All within a transaction that the caller has begun.
    [[nodiscard]] std::optional<Error> lift(const KeyComponents& key, UnixTime now);
    [[nodiscard]] std::optional<Error> lift(const CellComponent& component,
                                            Incarnation incarnation,
                                            UnixTime now);
    [[nodiscard]] std::optional<Error> lift(std::string_view cell_key, const Component& component);
    // Before the first write of a component of this node: adds those of earlier incarnations to the
    // node's base, of incarnation 0.
    [[nodiscard]] std::optional<Error> supersede(const CellName& cell,
                                                 Incarnation incarnation,
                                                 UnixTime now);
    [[nodiscard]] std::optional<Error> delete_expired(std::size_t at_most);
    Result<KeyTotals> totals_of(const KeyComponents& key, UnixTime now);
    Result<CellTotals> totals_of(const CellName& cell, Incarnation incarnation, UnixTime now);
    Result<std::vector<Component>> components_of(const CellName& cell, UnixTime now);

    std::string key_of(const CellName& cell) const;
    bool is_own(const Component& component, Incarnation incarnation) const {
        return component.incarnation == incarnation && component.node == options_.node;
    }

    const SqliteOriginOptions options_;
    // The statements go before the database that they belong to.
    sqlite::Database database_;
    Statements statements_;
    Count heartbeats_ = 0;
    bool is_write_refused_ = false;  // the last one was
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_SQLITE_COMPONENT_FILE_H_
