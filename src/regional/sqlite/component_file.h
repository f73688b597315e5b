// The table of components in an SQLite file.
#ifndef SLUICE_REGIONAL_SQLITE_COMPONENT_FILE_H_
#define SLUICE_REGIONAL_SQLITE_COMPONENT_FILE_H_

#include <sluice/result.h>
#include <sluice/time.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "regional/origin.h"
#include "regional/sqlite/sqlite_origin.h"
#include "sqlite/database.h"

namespace sluice {

// ComponentFile holds a row for each cell and owner, with the count and the time of its death.
// Rows that have died are not seen, and are deleted a bounded number at a time.
//
// A call that fails has changed nothing, or nothing but the deletion of dead rows.
//
// Thread-compatible. Calls block on the disk.
class ComponentFile {
  public:
    static Result<std::unique_ptr<ComponentFile>> open(SqliteOriginOptions options);

    Result<std::vector<CellTotals>> read(const std::vector<CellQuestion>& questions);
    Result<std::vector<CellTotals>> raise(const std::vector<CellComponent>& components);
    Result<std::vector<CellListing>> list(const std::vector<CellName>& cells);

    const std::string& node() const { return options_.node; }

  private:
    struct Statements {
        sqlite::Statement raise;
        sqlite::Statement select;
        sqlite::Statement forget;
    };

    // One of the components of a cell.
    struct Row {
        std::string node;
        Incarnation incarnation;
        Count count;
        UnixTime death;
    };

    ComponentFile(SqliteOriginOptions options, sqlite::Database database, Statements statements);

    // Both within a transaction that the caller has begun.
    [[nodiscard]] std::optional<Error> lift(const CellComponent& component, UnixTime now);
    [[nodiscard]] std::optional<Error> forget_dead(std::size_t at_most, UnixTime now);

    Result<std::vector<CellTotals>> try_raise(const std::vector<CellComponent>& components);
    Result<CellTotals> totals_of(const CellName& cell, Incarnation incarnation, UnixTime now);
    Result<std::vector<Row>> rows_of(const CellName& cell, UnixTime now);
    std::string key_of(const CellName& cell) const;

    const SqliteOriginOptions options_;
    // The statements go before the database that they belong to.
    sqlite::Database database_;
    Statements statements_;
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_SQLITE_COMPONENT_FILE_H_
