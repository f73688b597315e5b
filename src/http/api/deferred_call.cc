#include "http/api/deferred_call.h"

#include <array>
#include <exception>
#include <string_view>
#include <utility>

#include "http/api/error_answer.h"

namespace sluice::http {
namespace {

// The fields of a request that its answer depends on.
constexpr std::array<std::string_view, 2> kHeaders{"prefer", "accept"};

}  // namespace

DeferredCall::DeferredCall(Call& call, metrics::Route route)
    : context_(call.context),
      scratch_(call.scratch),
      overrides_(call.overrides),
      route_(route),
      request_id_(call.request_id),
      error_format_(call.error_format),
      method_(call.request.method),
      path_(call.request.path),
      peer_(call.request.peer),
      notes_(call.notes),
      reply_(call.reply),
      completion_(std::move(call.completion)) {
    request_.copy_headers(call.request, kHeaders, header_texts_);
    request_.method = method_;
    request_.path = path_;
    request_.peer = peer_;
    call.is_late = true;
}

std::shared_ptr<DeferredCall> DeferredCall::take(Call& call, metrics::Route route) {
    return std::shared_ptr<DeferredCall>(new DeferredCall(call, route));
}

void DeferredCall::answer(const std::shared_ptr<DeferredCall>& late,
                          std::function<void(Call&)> write) {
    late->context_.post([late, write = std::move(write)] { late->finish(write); });
}

void DeferredCall::finish(const std::function<void(Call&)>& write) {
    Call call{.request = request_,
              .reply = reply_,
              .context = context_,
              .scratch = scratch_,
              .overrides = overrides_,
              .caller = nullptr,
              .request_id = request_id_,
              .error_format = error_format_,
              .notes = notes_,
              .completion = completion_};
    try {
        write(call);
    } catch (const std::exception& error) {
        answer_failure(call, "The request could not be answered.", error.what());
    }
    const auto took = Clock::now() - began_;
    context_.thread_metrics.latency(route_).observe(took);
    report_answer(call, took);
    completion_();
}

}  // namespace sluice::http
