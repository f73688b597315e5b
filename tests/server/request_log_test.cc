// Log lines about requests.
#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include <boost/json.hpp>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "support/http_answer.h"
#include "support/process.h"
#include "support/server.h"

namespace sluice::server_test {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kLimit = "/v2/ratelimit.limit";
constexpr std::string_view kSet = "/v2/ratelimit.setOverride";

std::string id_of(const Answer& answer) {
    return std::string(answer.json().at("meta").at("requestId").as_string());
}

// The line about a request, once it is there; empty if it never is.
std::string line_about(Server& server, const std::string& event, const std::string& id) {
    const auto deadline = std::chrono::steady_clock::now() + kTimeout;
    while (std::chrono::steady_clock::now() < deadline) {
        const std::string output = server.program().output();
        const std::size_t at = output.find(" " + event + " request_id=" + id);
        if (at != std::string::npos) {
            const std::size_t begin = output.rfind('\n', at) + 1;
            const std::size_t end = output.find('\n', at);
            if (end != std::string::npos) return output.substr(begin, end - begin);
        }
        std::this_thread::sleep_for(10ms);
    }
    return "";
}

bool has(const std::string& line, const std::string& text) {
    return line.find(text) != std::string::npos;
}

// Programs started in its life can't write files beyond `bytes`: the nearest thing to a full disk.
class SmallFiles {
  public:
    explicit SmallFiles(rlim_t bytes) {
        std::signal(SIGXFSZ, SIG_IGN);
        getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit small{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
        setrlimit(RLIMIT_FSIZE, &small);
    }
    ~SmallFiles() { setrlimit(RLIMIT_FSIZE, &before_); }
    SmallFiles(const SmallFiles&) = delete;
    SmallFiles& operator=(const SmallFiles&) = delete;

  private:
    rlimit before_{};
};

TEST(RequestLog, AFailureOfTheServerIsLoggedWithItsCauseAndTheRequestId) {
    const ScratchFolder data;
    std::unique_ptr<Server> server;
    {
        const SmallFiles small(256 * 1024);
        server =
            std::make_unique<Server>(ServerOptions{.flags = {"--data-dir", data.path("data")}});
    }
    Answer answer;
    for (int i = 0; i < 1'000 && answer.status != 500; ++i) {
        answer = server->ask(kSet,
                             R"({"namespace":"n","identifier":"i)" + std::to_string(i) +
                                 R"(","limit":1,"duration":1000})");
    }
    ASSERT_EQ(answer.status, 500) << "the disk did not fill up";
    EXPECT_FALSE(has(answer.body, "overrides.db")) << "the client sees no paths";
    const std::string line = line_about(*server, "request_failed", id_of(answer));
    EXPECT_TRUE(has(line, " error ")) << line;
    EXPECT_TRUE(has(line, " path=/v2/ratelimit.setOverride ")) << line;
    EXPECT_TRUE(has(line, " cause=")) << line;
    EXPECT_TRUE(has(line, "overrides.db")) << line;
}

class RequestLines : public testing::Test {
  protected:
    std::string line_of(const Answer& answer) {
        return line_about(server_, "request", id_of(answer));
    }
    Answer ask(std::string_view path, const std::string& body) {
        return server_.ask(path, body, bearing("a-token"));
    }

    Server server_{{.flags = {"--log-requests"},
                    .config = to_toml({.token = "a-token", .workspace = "acme"})}};
};

TEST_F(RequestLines, CarryIdWorkspaceNamespaceAndOutcome) {
    const std::string body =
        R"({"namespace":"login","identifier":"secret-name","limit":1,"duration":31622400000})";
    const std::string passed = line_of(ask(kLimit, body));
    EXPECT_TRUE(has(passed,
                    " method=POST path=/v2/ratelimit.limit status=200 outcome=passed"
                    " workspace=acme namespace=login peer=127.0.0.1 microseconds="))
        << passed;
    const std::string denied = line_of(ask(kLimit, body));
    EXPECT_TRUE(has(denied, " status=200 outcome=denied workspace=acme namespace=login "))
        << denied;
    EXPECT_FALSE(has(server_.program().output(), "secret-name")) << "identifiers stay out";
}

TEST_F(RequestLines, NameTheErrorAndAllNamespacesOfABatch) {
    const std::string wrong = line_of(ask(kLimit, R"({"namespace":"login"})"));
    EXPECT_TRUE(has(wrong, " status=400 outcome=invalid_input workspace=acme ")) << wrong;
    const std::string stranger = line_of(server_.ask(kLimit, "{}", bearing("another")));
    EXPECT_TRUE(has(stranger, " status=401 outcome=key_not_found workspace=\"\" ")) << stranger;
    const auto item = [](const std::string& name) {
        return R"({"namespace":")" + name + R"(","identifier":"i","limit":1,"duration":1000})";
    };
    const std::string batch = line_of(
        ask("/v2/ratelimit.multiLimit", "[" + item("a") + "," + item("b") + "," + item("a") + "]"));
    EXPECT_TRUE(has(batch, " namespace=a,b ")) << batch;
    const std::string set =
        line_of(ask(kSet, R"({"namespace":"late","identifier":"i","limit":1,"duration":1000})"));
    EXPECT_TRUE(has(set,
                    " path=/v2/ratelimit.setOverride status=200 outcome=ok workspace=acme"
                    " namespace=late "))
        << set;
}

}  // namespace
}  // namespace sluice::server_test
