// What the server reports about the requests that it has answered.
#ifndef SLUICE_HTTP_API_REQUEST_REPORT_H_
#define SLUICE_HTTP_API_REQUEST_REPORT_H_

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

namespace sluice::http {

// What is known of a request once it is answered. Texts that a client chose are as it sent them.
struct RequestReport {
    std::string_view request_id;
    std::string_view method;
    std::string_view path;
    std::string_view peer;
    std::string_view workspace;   // empty where the request got no further than its token
    std::string_view name_space;  // of a batch with several: all, with commas; empty if it has none
    std::string_view outcome;     // "passed", "denied", "ok", or the last part of the error's type
    int status;
    std::chrono::steady_clock::duration took;
};

// What never became a request, and was answered with an error.
struct RefusalReport {
    std::string_view request_id;
    int status;
    std::string_view detail;
};

// Why a request was answered with 500. The client was not told.
struct FailureReport {
    std::string_view request_id;
    std::string_view path;  // empty for what never became a request
    std::string_view cause;
};

// Called on the serving thread; one that is empty is not called.
struct ReportHooks {
    std::function<void(const RequestReport&)> on_request = {};
    std::function<void(const RefusalReport&)> on_refusal = {};
    std::function<void(const FailureReport&)> on_failure = {};
};

// What a request is reported with beside the request itself, noted while it is answered.
struct ReportNotes {
    std::string_view outcome = "ok";
    std::string workspace;
    std::string name_space;

    void clear() {
        outcome = "ok";
        workspace.clear();
        name_space.clear();
    }
    // Namespaces beyond a few hundred bytes are left out.
    void note_namespace(std::string_view name);
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_API_REQUEST_REPORT_H_
