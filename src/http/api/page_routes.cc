// The files of the web page, on the admin listener. They hold no data and need no token: what the
// page shows comes from calls that check one.
#include <string>
#include <string_view>

#include "http/api/call.h"
#include "http/api/request_headers.h"
#include "page/assets.h"

namespace sluice::http {
namespace {

// Scripts, styles and data come from this server only; nothing is inline, and no text becomes HTML.
constexpr std::string_view kContentSecurityPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for "
    "'script'; trusted-types 'none'";

void begin_asset(Reply& reply, int status, const page::Asset& asset, std::string_view tag) {
    reply.begin(status, status == 304 ? "" : asset.content_type);
    reply.header("ETag", tag);
    // A browser asks each time, so that a page and a server of different versions don't meet.
    reply.header("Cache-Control", "no-cache");
    reply.header("Vary", "Accept-Encoding");
    reply.header("Content-Security-Policy", kContentSecurityPolicy);
    reply.header("X-Content-Type-Options", "nosniff");
    reply.header("Referrer-Policy", "no-referrer");
    reply.header("Cross-Origin-Resource-Policy", "same-origin");
}

}  // namespace

void answer_page(Call& call) {
    const page::Asset& asset = *page::find_asset(call.request.path);
    const bool is_gzip = accepts_gzip(call.request.header("accept-encoding"));
    const std::string tag = "\"" + std::string(asset.digest) + (is_gzip ? "-gzip\"" : "\"");
    const bool is_known = names_entity_tag(call.request.header("if-none-match"), tag);
    begin_asset(call.reply, is_known ? 304 : 200, asset, tag);
    if (is_known) return;
    if (is_gzip) call.reply.header("Content-Encoding", "gzip");
    call.reply.body() += is_gzip ? asset.gzip : asset.content;
}

}  // namespace sluice::http
