// `sluice doctor` on the machine itself: addresses, files, certificates, rules, and NATS.
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "doctor/doctor_run.h"
#include "support/canned_server.h"
#include "support/nats_server.h"
#include "support/process.h"
#include "support/server.h"

namespace sluice::doctor_test {
namespace {

using server_test::ScratchFolder;

TEST(MachineDoctor, FindsNothingWrongWithTheDefaults) {
    const DoctorRun run = examine({});
    EXPECT_EQ(run.exit_code, 0) << run.out;
    EXPECT_TRUE(run.has("ok", "addresses", "is free")) << run.out;
    const server_test::Ending text = server_test::run({"doctor", "--listen", "127.0.0.1:0"});
    EXPECT_NE(text.out.find("\n0 faults, "), std::string::npos) << text.out;
    EXPECT_EQ(text.out.find("ok       addresses: listen "), 0U) << text.out;
}

TEST(MachineDoctor, RefusesSettingsThatTheServerRefuses) {
    const server_test::Ending ending = server_test::run({"doctor", "--threads", "5000"});
    EXPECT_EQ(ending.exit_code, 2);
    EXPECT_NE(ending.err.find("sluice doctor: --threads: threads is"), std::string::npos)
        << ending.err;
}

TEST(MachineDoctor, FindsAnAddressThatIsTaken) {
    const server_test::Server server;
    const std::string address = "127.0.0.1:" + std::to_string(server.port());
    const std::string admin = "127.0.0.1:" + std::to_string(server.admin_port());
    const DoctorRun own = examine({"--listen", address, "--admin-listen", admin});
    EXPECT_EQ(own.exit_code, 0) << own.out;
    EXPECT_TRUE(own.has("ok", "addresses", "a server runs there already")) << own.out;
    const nats_test::NatsServer stranger;
    const DoctorRun taken = examine({"--grpc", stranger.address()});
    EXPECT_EQ(taken.exit_code, 2) << taken.out;
    EXPECT_TRUE(taken.has("fault", "addresses", "grpc.listen can't be used")) << taken.out;
    EXPECT_TRUE(taken.has("fault", "addresses", "stop the process")) << taken.out;
}

TEST(MachineDoctor, KnowsAServerWithGrpc) {
    const std::string grpc = "127.0.0.1:" + std::to_string(server_test::free_port());
    const server_test::Server server({.flags = {"--grpc", grpc}});
    const DoctorRun run = examine({"--grpc", grpc});
    EXPECT_EQ(run.exit_code, 0) << run.out;
    EXPECT_TRUE(run.has("ok", "addresses", "grpc.listen " + grpc + ": a server runs")) << run.out;
    // Not on the address of another listener.
    const std::string main = "127.0.0.1:" + std::to_string(server.port());
    EXPECT_TRUE(examine({"--grpc", main}).has("fault", "addresses", "grpc.listen")) << main;
}

TEST(MachineDoctor, KnowsAServerWithTls) {
    const ScratchFolder folder;
    const server_test::Certificate own =
        server_test::make_certificate(folder, "server", "localhost");
    const std::vector<std::string> tls = {"--tls-cert", own.cert, "--tls-key", own.key};
    const std::string grpc = "127.0.0.1:" + std::to_string(server_test::free_port());
    std::vector<std::string> flags = tls;
    flags.insert(flags.end(), {"--grpc", grpc});
    const server_test::Server server({.flags = flags, .trusted = own.cert});
    flags.insert(flags.end(),
                 {"--listen",
                  "127.0.0.1:" + std::to_string(server.port()),
                  "--admin-listen",
                  "127.0.0.1:" + std::to_string(server.admin_port())});
    const DoctorRun run = examine(flags);
    EXPECT_EQ(run.exit_code, 0) << run.out;
    EXPECT_TRUE(run.is_clean("addresses")) << run.out;
}

TEST(MachineDoctor, CannotIdentifyAServerThatWantsACertificate) {
    const ScratchFolder folder;
    const server_test::Certificate own =
        server_test::make_certificate(folder, "server", "localhost");
    const std::string address = "127.0.0.1:" + std::to_string(server_test::free_port());
    const std::string grpc = "127.0.0.1:" + std::to_string(server_test::free_port());
    std::vector<std::string> flags = {"--listen",
                                      address,
                                      "--grpc",
                                      grpc,
                                      "--tls-cert",
                                      own.cert,
                                      "--tls-key",
                                      own.key,
                                      "--tls-client-ca",
                                      own.cert};
    std::vector<std::string> words = {"serve"};
    words.insert(words.end(), flags.begin(), flags.end());
    const server_test::Program server(words);
    const auto deadline = std::chrono::steady_clock::now() + server_test::kTimeout;
    while (server.output().find("started") == std::string::npos)
        ASSERT_LT(std::chrono::steady_clock::now(), deadline) << server.output();
    const DoctorRun run = examine(flags);
    EXPECT_EQ(run.exit_code, 0) << run.out;
    EXPECT_TRUE(run.has("warning", "addresses", "listen " + address + " is taken")) << run.out;
    EXPECT_TRUE(run.has("warning", "addresses", "grpc.listen " + grpc + " is taken")) << run.out;
}

TEST(MachineDoctor, DoesNotMistakeAnotherHttpServer) {
    for (const char* answer : {"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
                               "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"}) {
        const redis_test::CannedServer stranger(answer);
        for (const char* flag : {"--listen", "--admin-listen", "--grpc"}) {
            const DoctorRun run = examine({flag, stranger.address()});
            EXPECT_EQ(run.exit_code, 2) << flag << run.out;
            EXPECT_TRUE(run.has("fault", "addresses", "can't be used")) << flag << run.out;
        }
    }
}

TEST(MachineDoctor, FindsTooFewFiles) {
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    const std::string connections = std::to_string(before.rlim_max);
    if (before.rlim_max > 9'000'000) GTEST_SKIP() << "the limit is above that of the setting";
    const DoctorRun run = examine({"--http-max-connections", connections});
    EXPECT_EQ(run.exit_code, 0) << run.out;
    EXPECT_TRUE(run.has("warning", "files", "LimitNOFILE=")) << run.out;
    EXPECT_TRUE(examine({"--http-max-connections", "100"}).has("ok", "files", "may be open"));
    // gRPC has as many connections of its own.
    const std::string half = std::to_string(before.rlim_max / 2);
    EXPECT_TRUE(examine({"--http-max-connections", half}).has("ok", "files", "may be open"));
    EXPECT_TRUE(examine({"--http-max-connections", half, "--grpc", "127.0.0.1:0"})
                    .has("warning", "files", "LimitNOFILE="));
}

TEST(MachineDoctor, ChecksTheDataFolder) {
    const ScratchFolder folder;
    const std::string data = folder.path("data");
    EXPECT_TRUE(examine({"--data-dir", data}).has("ok", "data_dir", "will be created"));
    std::filesystem::create_directory(data);
    std::filesystem::permissions(data, std::filesystem::perms::owner_all);
    const DoctorRun good = examine({"--data-dir", data});
    EXPECT_EQ(good.exit_code, 0) << good.out;
    EXPECT_TRUE(good.has("ok", "data_dir", "can be written")) << good.out;
    EXPECT_TRUE(std::filesystem::is_empty(data)) << "the scratch file is left";
    std::filesystem::permissions(data, std::filesystem::perms(0755));
    EXPECT_TRUE(examine({"--data-dir", data}).has("warning", "data_dir", "chmod 700"));
    EXPECT_TRUE(examine({"--data-dir", folder.write("file", "")})
                    .has("fault", "data_dir", "set data_dir to a folder"));
    // Not even root may write there.
    const DoctorRun proc = examine({"--data-dir", "/proc/1"});
    EXPECT_EQ(proc.exit_code, 2) << proc.out;
    EXPECT_TRUE(proc.has("fault", "data_dir", "can't be written")) << proc.out;
}

// As that of a service with DynamicUser=, outside of its sandbox.
TEST(MachineDoctor, FindsADataFolderThatCannotBeLookedAt) {
    const ScratchFolder folder;
    std::filesystem::create_symlink("loop", folder.path("loop"));
    const DoctorRun run = examine({"--data-dir", folder.path("loop/data")});
    EXPECT_EQ(run.exit_code, 2) << run.out;
    EXPECT_TRUE(run.has("fault", "data_dir", "can't be looked at")) << run.out;
}

TEST(MachineDoctor, FindsAFullFileSystem) {
    const DoctorRun run = examine({"--data-dir", "/dev/shm"});
    EXPECT_TRUE(run.has("ok", "data_dir", "MiB are free") ||
                run.has("warning", "data_dir", "MiB are free") ||
                run.has("fault", "data_dir", "MiB are free"))
        << run.out;
}

TEST(MachineDoctor, ChecksCertificates) {
    const ScratchFolder folder;
    const server_test::Certificate own =
        server_test::make_certificate(folder, "server", "localhost");
    const server_test::Certificate other =
        server_test::make_certificate(folder, "other", "localhost");
    const DoctorRun good = examine({"--tls-cert", own.cert, "--tls-key", own.key});
    EXPECT_EQ(good.exit_code, 0) << good.out;
    EXPECT_FALSE(good.has("fault", "tls", "")) << good.out;
    const DoctorRun wrong = examine({"--tls-cert", own.cert, "--tls-key", other.key});
    EXPECT_EQ(wrong.exit_code, 2) << wrong.out;
    EXPECT_TRUE(wrong.has("fault", "tls", "it is not the key of the certificate")) << wrong.out;
    EXPECT_TRUE(examine({"--tls-cert", folder.path("none"), "--tls-key", own.key})
                    .has("fault", "tls", "can't be read"));
}

TEST(MachineDoctor, ChecksRules) {
    const ScratchFolder folder;
    const DoctorRun good =
        examine({"--rules",
                 folder.write("good.yaml",
                              "domain: web\ndescriptors:\n  - key: k\n    rate_limit: {unit: day, "
                              "requests_per_unit: 1}\n")});
    EXPECT_EQ(good.exit_code, 0) << good.out;
    EXPECT_TRUE(good.has("ok", "rules", "is valid")) << good.out;
    const DoctorRun bad =
        examine({"--rules", folder.write("bad.yaml", "domain: web\nrules: []\n")});
    EXPECT_EQ(bad.exit_code, 2) << bad.out;
    EXPECT_TRUE(bad.has("fault", "rules", "bad.yaml")) << bad.out;
}

TEST(MachineDoctor, ChecksTheBus) {
    const ScratchFolder folder;
    const std::string global = "sqlite:" + folder.path("global.db");
    const auto examine_bus = [&](const std::string& url) {
        return examine({"--region", "eu", "--global", global, "--bus", url});
    };
    nats_test::NatsServer nats({.config = "authorization { user: a, password: hush-hush }"});
    const DoctorRun good = examine_bus(nats.url("a:hush-hush"));
    EXPECT_EQ(good.exit_code, 0) << good.out;
    EXPECT_TRUE(good.has("ok", "nats", "takes publishes and subscriptions")) << good.out;
    EXPECT_TRUE(good.has("ok", "global", "can be written")) << good.out;
    const DoctorRun login = examine_bus(nats.url("a:wrong-word"));
    EXPECT_EQ(login.exit_code, 2) << login.out;
    EXPECT_TRUE(login.has("fault", "nats", "sluice.v1.*")) << login.out;
    EXPECT_EQ(login.out.find("wrong-word"), std::string::npos) << login.out;
    nats.kill();
    EXPECT_EQ(examine_bus(nats.url("a:hush-hush")).exit_code, 2);
}

}  // namespace
}  // namespace sluice::doctor_test
