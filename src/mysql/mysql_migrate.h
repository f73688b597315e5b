// Brings a MySQL or MariaDB to the schema that this program knows.
#ifndef SLUICE_MYSQL_MYSQL_MIGRATE_H_
#define SLUICE_MYSQL_MYSQL_MIGRATE_H_

#include <sluice/result.h>

#include "base/migration.h"
#include "url/mysql_url.h"

namespace sluice {

// Creates the tables, or upgrades them. May be run again, also after a crash in its midst, and by
// several at once: one does the work, and the others find it done. A schema that is newer is an
// error and stays as it is.
//
// The user needs the rights CREATE, ALTER, INDEX, SELECT, INSERT and UPDATE on the database.
Result<Migration> migrate_mysql(const MysqlUrl& url, DryRun dry_run);

}  // namespace sluice

#endif  // SLUICE_MYSQL_MYSQL_MIGRATE_H_
