#include "http/wire/head_parser.h"

#include <algorithm>
#include <utility>

#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/rfc7230.hpp>

#include "http/wire/characters.h"

namespace sluice::http {

namespace beast_http = boost::beast::http;
using beast_http::field;
using boost::beast::error_code;

namespace {

std::string_view view_of(boost::beast::string_view text) {
    return {text.data(), text.size()};
}

constexpr ProtocolError kBadSyntax{400, "The head of the request is malformed."};

// 400 for what can't be a list of codings, 501 for codings that we don't know.
ProtocolError coding_error(std::string_view value) {
    bool has_unknown = false;
    for (;;) {
        const std::size_t end = std::min(value.find(','), value.size());
        std::string_view coding = trim(value.substr(0, end));
        if (coding.empty() || !std::all_of(coding.begin(), coding.end(), is_token_char)) {
            return {400, "Transfer-Encoding is malformed."};
        }
        has_unknown |= !equal_in_any_case(coding, "chunked");
        if (end == value.size()) break;
        value.remove_prefix(end + 1);
    }
    if (has_unknown) return {501, "The only transfer coding that this server knows is chunked."};
    return {400, "Transfer-Encoding names chunked more than once."};
}

// HTTP/2.0 and the like are another version; anything else that Beast refuses there is no version
// at all.
bool names_other_version(std::string_view head) {
    const std::string_view line = head.substr(0, head.find("\r\n"));
    if (line.size() < 9) return false;
    const std::string_view version = line.substr(line.size() - 9);
    return version.starts_with(" HTTP/") && is_digit(version[6]) && version[7] == '.' &&
           is_digit(version[8]) && version != " HTTP/1.0" && version != " HTTP/1.1";
}

}  // namespace

class HeadParser : public beast_http::basic_parser<true> {
  public:
    HeadParser(RequestView& request, HeadFacts& facts) : request_(request), facts_(facts) {
        request_.field_count_ = 0;
        // What follows the head is none of Beast's business, and the size was checked by the
        // caller.
        skip(true);
        header_limit(UINT32_MAX);
    }

    ProtocolError parse(std::string_view head) {
        error_code failure;
        const std::size_t used = put(boost::asio::const_buffer(head.data(), head.size()), failure);
        if (error_.status != 0) return error_;
        if (failure == beast_http::error::bad_version && names_other_version(head)) {
            return {505, "This server speaks HTTP/1.1 and HTTP/1.0."};
        }
        if (failure == beast_http::error::bad_content_length ||
            failure == beast_http::error::multiple_content_length) {
            return kBadLength;
        }
        if (failure == beast_http::error::bad_transfer_encoding) return kTwoFramings;
        if (failure || used != head.size() || !is_done()) return kBadSyntax;
        facts_.keep_alive = keep_alive();
        facts_.content_length = content_length().value_or(0);
        return whole_head_error();
    }

  private:
    static constexpr ProtocolError kBadLength{400, "Content-Length must be given once, as digits."};
    static constexpr ProtocolError kTwoFramings{
        400,
        "Content-Length and Transfer-Encoding exclude each other, and each may be given once."};

    void on_request_impl(beast_http::verb,
                         boost::beast::string_view method,
                         boost::beast::string_view target,
                         int version,
                         error_code& failure) override {
        request_.method = view_of(method);
        request_.minor_version = version - 10;
        if (!split_target(view_of(target)))
            refuse({400, "The request target is malformed."}, failure);
    }

    // Takes the origin form, the absolute form, which proxies send, and the asterisk of OPTIONS.
    bool split_target(std::string_view target) {
        if (!target.starts_with('/')) {
            for (const std::string_view scheme : {"http://", "https://"}) {
                if (!equal_in_any_case(target.substr(0, scheme.size()), scheme)) continue;
                target.remove_prefix(
                    std::min(target.find_first_of("/?", scheme.size()), target.size()));
                return split_path(target.empty() ? "/" : target);
            }
            if (target != "*" && request_.method != "CONNECT") return false;
        }
        return split_path(target);
    }

    bool split_path(std::string_view target) {
        const std::size_t question = target.find('?');
        const bool has_query = question != std::string_view::npos;
        request_.path = question == 0 ? "/" : target.substr(0, question);
        request_.query = has_query ? target.substr(question + 1) : std::string_view();
        return target.find('#') == std::string_view::npos;
    }

    void on_field_impl(field id,
                       boost::beast::string_view name,
                       boost::beast::string_view value,
                       error_code& failure) override {
        if (request_.field_count_ == RequestView::kMaxHeaders) {
            return refuse({431, "The request has more than 100 header fields."}, failure);
        }
        request_.fields_[request_.field_count_++] = {view_of(name), view_of(value)};
        switch (id) {
            case field::content_length:
                return on_length(view_of(value), failure);
            case field::transfer_encoding:
                return on_coding(view_of(value), failure);
            case field::expect:
                return on_expect(view_of(value), failure);
            case field::host:
                ++hosts_;
                return;
            case field::authorization:
                if (std::exchange(has_authorization_, true)) {
                    refuse({400, "A request may have one Authorization field."}, failure);
                }
                return;
            default:
                return;
        }
    }

    // Beast has read the number; what remains is to refuse lists and repetitions.
    void on_length(std::string_view value, error_code& failure) {
        if (has_length_ || !std::all_of(value.begin(), value.end(), http::is_digit)) {
            return refuse(kBadLength, failure);
        }
        has_length_ = true;
    }

    void on_coding(std::string_view value, error_code& failure) {
        if (facts_.framing == BodyFraming::kChunked) return refuse(kTwoFramings, failure);
        if (!equal_in_any_case(value, "chunked")) return refuse(coding_error(value), failure);
        facts_.framing = BodyFraming::kChunked;
    }

    void on_expect(std::string_view value, error_code& failure) {
        if (!equal_in_any_case(value, "100-continue")) {
            return refuse({417, "The only expectation that this server meets is 100-continue."},
                          failure);
        }
        facts_.expects_continue = request_.minor_version >= 1;
    }

    ProtocolError whole_head_error() const {
        const bool is_chunked = facts_.framing == BodyFraming::kChunked;
        if (is_chunked && has_length_) return kTwoFramings;
        if (is_chunked && request_.minor_version == 0) {
            return {400, "HTTP/1.0 has no transfer codings."};
        }
        if (hosts_ > 1 || (hosts_ == 0 && request_.minor_version >= 1)) {
            return {400, "A request needs exactly one Host field."};
        }
        return {};
    }

    void refuse(ProtocolError error, error_code& failure) {
        error_ = error;
        failure = beast_http::error::bad_value;
    }

    // What Beast would call for a response or for the body; neither comes here.
    void on_response_impl(int, boost::beast::string_view, int, error_code&) override {}
    void on_header_impl(error_code&) override {}
    void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
    std::size_t on_body_impl(boost::beast::string_view, error_code&) override { return 0; }
    void on_chunk_header_impl(std::uint64_t, boost::beast::string_view, error_code&) override {}
    std::size_t on_chunk_body_impl(std::uint64_t, boost::beast::string_view, error_code&) override {
        return 0;
    }
    void on_finish_impl(error_code&) override {}

    RequestView& request_;
    HeadFacts& facts_;
    ProtocolError error_;
    int hosts_ = 0;
    bool has_length_ = false;
    bool has_authorization_ = false;
};

ProtocolError parse_head(std::string_view head, RequestView& request, HeadFacts& facts) {
    facts = {};
    return HeadParser(request, facts).parse(head);
}

}  // namespace sluice::http
