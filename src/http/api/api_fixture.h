// For tests: an Api without sockets, and requests that went through the real parser of request
// heads.
#ifndef SLUICE_HTTP_API_API_FIXTURE_H_
#define SLUICE_HTTP_API_API_FIXTURE_H_

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "http/api/api.h"
#include "http/wire/request_reader.h"
#include "overrides/store.h"

namespace sluice::http {

struct Answer {
    int status;
    std::string fields;  // each with its CRLF
    std::string body;    // with the request's id replaced by ID
    std::string request_id;

    // The value of a field, or "none".
    std::string field(std::string_view name) const {
        const std::string start = std::string(name) + ": ";
        const std::size_t at = ("\r\n" + fields).find("\r\n" + start);
        if (at == std::string::npos) return "none";
        const std::size_t value = at + start.size();
        return fields.substr(value, fields.find("\r\n", value) - value);
    }
};

struct Sent {
    std::string_view method = "POST";
    std::string_view path = "/v2/ratelimit.limit";
    std::string body{};
    std::vector<std::pair<std::string, std::string>> headers{};
    bool json = true;  // with Content-Type: application/json
};

struct ErrorShape {
    int status;
    std::string title;
    std::string detail;
    std::string type;
};

// The body of an error without a list of field errors.
inline std::string body_of(const ErrorShape& error) {
    return R"({"meta":{"requestId":"ID"},"error":{"title":")" + error.title + R"(","detail":")" +
           error.detail + R"(","status":)" + std::to_string(error.status) +
           R"(,"type":"https://unkey.com/docs/errors/)" + error.type + R"("}})";
}

// A store whose writes fail on demand.
class FailingStore final : public overrides::OverrideStore {
  public:
    explicit FailingStore(const std::optional<Error>& fails) : fails_(fails) {}
    Result<std::uint64_t> version() override { return 0; }
    Result<overrides::Contents> load_all() override { return overrides::Contents{}; }
    Result<overrides::Stored> put(const overrides::Override& entry,
                                  const std::optional<overrides::Author>&) override {
        if (const auto& error = fails_) return *error;
        return overrides::Stored{entry, 0};
    }
    Result<std::vector<overrides::Change>> changes(const overrides::ChangeQuery&) override {
        return std::vector<overrides::Change>{};
    }
    Result<overrides::Removed> remove(const overrides::OverrideKey&,
                                      const std::optional<overrides::Author>&) override {
        if (const auto& error = fails_) return *error;
        return overrides::Removed{true, 0};
    }

  private:
    const std::optional<Error>& fails_;
};

class ApiFixture : public testing::Test {
  protected:
    // A minute of the test clock, at the start of a window of a minute.
    static constexpr std::int64_t kNow = 1'700'000'040'000;

    enum class Reports { kIgnored, kKept };

    explicit ApiFixture(std::vector<config::Token> tokens = {},
                        const std::string& origin = "",
                        Reports reports = Reports::kIgnored)
        : reports_(reports),
          limiter_(*Limiter::create({.region = "test", .max_keys = 10'000, .origin = origin})),
          tokens_(tokens) {}

    Answer send(const Sent& sent) { return send(api_, sent); }

    Answer send(Api& api, const Sent& sent) {
        std::string head =
            std::string(sent.method) + " " + std::string(sent.path) + " HTTP/1.1\r\nHost: h\r\n";
        if (sent.json) head += "Content-Type: application/json\r\n";
        for (const auto& [name, value] : sent.headers) {
            head.append(name).append(": ").append(value).append("\r\n");
        }
        head += "\r\n";
        RequestView request;
        HeadFacts facts;
        EXPECT_EQ(parse_head(head, request, facts).status, 0) << head;
        request.body = sent.body;
        Reply reply;
        if (api.handle(request, reply, Completion(nullptr)) == HandlerResult::kDeferred)
            run_posted();
        return answer_of(reply);
    }

    // A POST at `kNow` plus `after` milliseconds.
    Answer post(std::string_view path, std::string body, std::int64_t after = 0) {
        return send({.path = path,
                     .body = std::move(body),
                     .headers = {{"X-Test-Time", std::to_string(kNow + after)}}});
    }

    Answer limit(std::string body, std::int64_t after = 0) {
        return post("/v2/ratelimit.limit", std::move(body), after);
    }

    static Answer answer_of(const Reply& reply) {
        Answer answer{reply.status(), std::string(reply.fields()), reply.body(), ""};
        const std::size_t at = answer.body.find("req_");
        if (at != std::string::npos) {
            answer.request_id = answer.body.substr(at, answer.body.find('"', at) - at);
            answer.body.replace(at, answer.request_id.size(), "ID");
        }
        return answer;
    }

    std::string metrics_text() {
        std::string text;
        metrics_.write(text);
        return text;
    }

    // Waits for a deferred answer and writes it.
    void run_posted() {
        std::unique_lock lock(mutex_);
        has_posted_.wait(lock, [this] { return !posted_.empty(); });
        const std::function<void()> answer = std::move(posted_.front());
        posted_.pop_front();
        lock.unlock();
        answer();
    }

    ReportHooks hooks() {
        if (reports_ == Reports::kIgnored) return {};
        return {.on_request =
                    [this](const RequestReport& report) {
                        requests_[std::string(report.request_id)] =
                            std::to_string(report.status) + " " + std::string(report.outcome) +
                            " " + std::string(report.workspace) + " " +
                            std::string(report.name_space);
                    },
                .on_refusal =
                    [this](const RefusalReport& report) {
                        refusals_[std::string(report.request_id)] =
                            std::to_string(report.status) + " " + std::string(report.detail);
                    },
                .on_failure =
                    [this](const FailureReport& report) {
                        failures_[std::string(report.request_id)] =
                            std::string(report.path) + ": " + std::string(report.cause);
                    }};
    }

    const Reports reports_;
    // Reports by request id.
    std::map<std::string, std::string> requests_;
    std::map<std::string, std::string> refusals_;
    std::map<std::string, std::string> failures_;
    std::optional<Error> store_fails_;  // the error; unchanged during a call
    std::mutex mutex_;
    std::condition_variable has_posted_;
    std::deque<std::function<void()>> posted_;
    Limiter limiter_;
    std::unique_ptr<overrides::OverrideSet> overrides_ =
        *overrides::OverrideSet::open(std::make_unique<FailingStore>(store_fails_));
    overrides::OverrideChanges override_changes_{*overrides_, {}};
    KnownNamespaces namespaces_{1};
    CurrentTokens tokens_;
    metrics::Metrics metrics_{{.version = "0", .region = "test", .threads = 1, .read = [] {
                                   return metrics::Readings{};
                               }}};
    std::atomic<Readiness> readiness_{Readiness::kReady};
    Api api_{context(ListenerRole::kPublic)};

    ApiContext context(ListenerRole role) {
        return {.limiter = limiter_,
                .overrides = *overrides_,
                .override_changes = override_changes_,
                .namespaces = namespaces_,
                .tokens = tokens_,
                .metrics = metrics_,
                .thread_metrics = metrics_.thread(0),
                .readiness = readiness_,
                .clock = ClockSource::kRequest,
                .role = role,
                .post =
                    [this](std::function<void()> act) {
                        const std::lock_guard lock(mutex_);
                        posted_.push_back(std::move(act));
                        has_posted_.notify_one();
                    },
                .report = hooks()};
    }
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_API_API_FIXTURE_H_
