#include "support/mariadb_server.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <thread>
#include <utility>

#include "mysql/mysql_schema.h"
#include "support/process.h"
#include "support/server.h"

namespace sluice::mariadb_test {
namespace {

using server_test::kTimeout;
using server_test::read_file;
using server_test::ScratchFolder;

// As small as it starts with: a test has few rows.
constexpr const char* kSmallLog = "--innodb-log-file-size=8M";

// The files of a server that was never used, made once by each test program.
std::string template_folder() {
    static const ScratchFolder folder;
    static const std::string data = [] {
        const std::string made = folder.path("data");
        const std::string log = folder.path("log");
        // A server deletes what it takes for leftovers in its folder of temporary files, and so
        // those of another one that shares it.
        const std::string temporary = folder.path("tmp");
        std::filesystem::create_directory(temporary);
        const std::string command =
            "mariadb-install-db --no-defaults --user=root --skip-test-db "
            "--auth-root-authentication-method=normal " +
            std::string(kSmallLog) + " --datadir=" + made + " --tmpdir=" + temporary + " >" + log +
            " 2>&1";
        if (std::system(command.c_str()) != 0)
            throw std::runtime_error("mariadb-install-db failed; it wrote:\n" + read_file(log));
        return made;
    }();
    return data;
}

[[noreturn]] void fail(const std::string& sql, const MysqlFailure& failure) {
    throw std::runtime_error("mariadbd refused: " + sql.substr(0, 200) + "\n" + failure.why);
}

}  // namespace

MariadbServer::MariadbServer(MariadbServerOptions options)
    : options_(std::move(options)), scratch_(std::make_unique<ScratchFolder>()) {
    if (options_.tls) certificate_ = make_certificate(*scratch_, "mariadb", options_.tls_name);
    copy_template();
    // Another process may take a port that was free a moment ago; then another one is tried.
    for (int tries = 0; tries < 5; ++tries) {
        port_ = server_test::free_port();
        process_.start(arguments(), scratch_->path("log"));
        if (becomes_ready()) {
            add_user();
            return;
        }
        kill();
    }
    throw std::runtime_error("mariadbd did not become ready; it wrote:\n" +
                             read_file(scratch_->path("log")));
}

MariadbServer::~MariadbServer() {
    kill();
}

void MariadbServer::copy_template() const {
    const std::filesystem::path data = scratch_->path("data");
    std::filesystem::remove_all(data);
    std::filesystem::copy(template_folder(), data, std::filesystem::copy_options::recursive);
    std::filesystem::create_directories(scratch_->path("tmp"));
}

std::string MariadbServer::make_database() {
    const std::string name = "sluice_" + std::to_string(++databases_);
    run("CREATE DATABASE " + name);
    return name;
}

std::string MariadbServer::url_text(const std::string& database) const {
    return "mysql://alice:secret%40%2F%3A%25@127.0.0.1:" + std::to_string(port_) + "/" + database;
}

MysqlUrl MariadbServer::url(const std::string& database) const {
    return parse_mysql_url(url_text(database)).value();
}

MysqlUrl MariadbServer::make_store() {
    MysqlUrl made = url(make_database());
    const auto migrated = migrate_mysql(made, DryRun::kNo);
    if (!migrated) throw std::runtime_error(migrated.error().message);
    return made;
}

void MariadbServer::start() {
    if (!process_.has_ended()) return;
    process_.start(arguments(), scratch_->path("log"));
    if (becomes_ready()) return;
    throw std::runtime_error("mariadbd did not come back; it wrote:\n" +
                             read_file(scratch_->path("log")));
}

void MariadbServer::kill() {
    admin_.reset();
    process_.kill();
}

void MariadbServer::restart_empty() {
    kill();
    copy_template();
    start();
    add_user();
}

void MariadbServer::run(const std::string& sql) {
    (void)rows(sql);
}

std::int64_t MariadbServer::number(const std::string& sql) {
    return std::stoll(rows(sql).at(0).at(0));
}

std::vector<std::vector<std::string>> MariadbServer::rows(const std::string& sql) {
    if ((admin_ == nullptr || !admin_->is_connected()) && !connect())
        throw std::runtime_error("mariadbd is not there");
    std::vector<std::vector<std::string>> found;
    const auto take = [&](const MysqlRow& row) {
        std::vector<std::string>& columns = found.emplace_back();
        for (int i = 0; i < row.columns(); ++i)
            columns.emplace_back(row.bytes(i));
    };
    if (const auto failure = admin_->query(sql, take)) fail(sql, *failure);
    return found;
}

std::vector<std::string> MariadbServer::arguments() const {
    std::vector<std::string> words = {"mariadbd", "--no-defaults", "--user=root", kSmallLog};
    const auto add = [&](const std::string& word) { words.push_back(word); };
    add("--datadir=" + scratch_->path("data"));
    // A server that starts deletes what it takes for leftovers of its own, wherever that is.
    add("--tmpdir=" + scratch_->path("tmp"));
    add("--socket=" + socket_path());
    add("--pid-file=" + scratch_->path("pid"));
    add("--bind-address=127.0.0.1");
    add("--port=" + std::to_string(port_));
    add("--innodb-buffer-pool-size=64M");
    add("--innodb-flush-log-at-trx-commit=2");
    add("--innodb-use-native-aio=0");
    add("--aria-pagecache-buffer-size=1M");
    add("--key-buffer-size=1M");
    add("--skip-name-resolve");
    add("--skip-log-bin");
    if (options_.tls) {
        add("--ssl-cert=" + certificate_.cert);
        add("--ssl-key=" + certificate_.key);
    }
    words.insert(words.end(), options_.flags.begin(), options_.flags.end());
    return words;
}

bool MariadbServer::becomes_ready() {
    const auto deadline = std::chrono::steady_clock::now() + kTimeout;
    while (std::chrono::steady_clock::now() < deadline) {
        if (process_.has_ended()) return false;
        if (connect()) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
}

void MariadbServer::add_user() {
    const std::string user = std::string(kUser) + "@'%'";
    run("CREATE USER " + user + " IDENTIFIED BY '" + kPassword + "'");
    run("GRANT ALL ON `sluice%`.* TO " + user);
}

bool MariadbServer::connect() {
    MysqlUrl url;
    url.user = "root";
    url.socket_path = socket_path();
    url.database = "mysql";
    admin_ =
        std::make_unique<MysqlConnection>(MysqlOptions{.url = url, .answer_timeout = kTimeout});
    return !admin_->connect();
}

}  // namespace sluice::mariadb_test
