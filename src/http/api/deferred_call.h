// One request that is answered after it is gone.
#ifndef SLUICE_HTTP_API_DEFERRED_CALL_H_
#define SLUICE_HTTP_API_DEFERRED_CALL_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "http/api/call.h"
#include "http/wire/exchange.h"
#include "metrics/names.h"

namespace sluice::http {

// DeferredCall keeps of a request what an answer depends on, and the right to answer. Owned by the
// serving thread; only answer() may be called by another.
class DeferredCall {
  public:
    using Clock = std::chrono::steady_clock;

    // Takes over the answer to `call`.
    static std::shared_ptr<DeferredCall> take(Call& call, metrics::Route route);

    // Has `write` write the answer, on the serving thread, and sends it.
    static void answer(const std::shared_ptr<DeferredCall>& late, std::function<void(Call&)> write);

  private:
    DeferredCall(Call& call, metrics::Route route);
    void finish(const std::function<void(Call&)>& write);

    const ApiContext& context_;
    Scratch& scratch_;
    const overrides::Reader& overrides_;
    const metrics::Route route_;
    const Clock::time_point began_ = Clock::now();
    const std::string request_id_;
    const ErrorFormat error_format_;
    const std::string method_;
    const std::string path_;
    const std::string peer_;
    ReportNotes notes_;
    std::string header_texts_;
    RequestView request_;
    Reply& reply_;
    Completion completion_;
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_API_DEFERRED_CALL_H_
