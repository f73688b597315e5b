// Request ids, and reports on answered requests for the log.
#ifndef SLUICE_HTTP_API_REQUEST_REPORT_H_
#define SLUICE_HTTP_API_REQUEST_REPORT_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace sluice::http {

// Generates request ids, which answers and log lines share: "req_" and 26 letters and digits, 128
// bits from a cryptographic generator. An id reveals nothing about other requests.
//
// Thread-compatible: each serving thread has its own. Random bytes are fetched for 128 ids at a
// time.
class RequestIdSource {
  public:
    RequestIdSource();

    // Valid until the next call.
    std::string_view next();

  private:
    static constexpr std::size_t kDigits = 13;  // of 5 bits each: enough for 64
    static constexpr std::size_t kWords = 256;  // two for an id

    std::uint64_t next_word();

    std::array<char, 4 + 2 * kDigits> id_{};
    std::array<std::uint64_t, kWords> random_;
    std::size_t used_ = kWords;
};

// An answered request. Texts that a client chose are as it sent them.
struct RequestReport {
    std::string_view request_id;
    std::string_view method;
    std::string_view path;
    std::string_view peer;
    std::string_view workspace;   // empty if the token was refused
    std::string_view name_space;  // of a batch: all, separated by commas; empty if there is none
    std::string_view outcome;     // "passed", "denied", "ok", or the last part of the error's type
    int status;
    std::chrono::steady_clock::duration took;
};

// Bytes that never became a request, and were answered with an error.
struct RefusalReport {
    std::string_view request_id;
    int status;
    std::string_view detail;
};

// The cause of an answer with status 500, which the client does not see.
struct FailureReport {
    std::string_view request_id;
    std::string_view path;  // empty if there was no complete request
    std::string_view cause;
};

// Called on the serving thread; empty hooks are skipped.
struct ReportHooks {
    std::function<void(const RequestReport&)> on_request = {};
    std::function<void(const RefusalReport&)> on_refusal = {};
    std::function<void(const FailureReport&)> on_failure = {};
};

// The fields of a RequestReport that are collected while the request is answered.
struct ReportNotes {
    std::string_view outcome = "ok";
    std::string workspace;
    std::string name_space;

    void clear() {
        outcome = "ok";
        workspace.clear();
        name_space.clear();
    }
    // Adds a namespace once. The list is limited to 600 bytes.
    void note_namespace(std::string_view name);
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_API_REQUEST_REPORT_H_
