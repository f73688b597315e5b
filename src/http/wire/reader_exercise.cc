#include "http/wire/reader_exercise.h"

#include <algorithm>

#include "base/check.h"
#include "http/wire/request_reader.h"

namespace sluice::http {

namespace {

std::string describe(const RequestView& request) {
    std::string text;
    ((text += request.method) += ' ') += request.path;
    ((text += '?') += request.query) += ' ';
    return text += request.body;
}

bool lies_within(std::string_view part, std::span<const char> whole) {
    return part.empty() || (part.data() >= whole.data() &&
                            part.data() + part.size() <= whole.data() + whole.size());
}

}  // namespace

ReaderLog log_reading(std::string_view bytes, std::size_t piece, const WireLimits& limits) {
    ReaderLog log;
    RequestReader reader(limits);
    RequestView request;
    std::vector<char> kept;
    while (!bytes.empty()) {
        const std::size_t size = std::min(std::max<std::size_t>(piece, 1), bytes.size());
        kept.insert(kept.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
        bytes.remove_prefix(size);
        // Memory of the exact size, so that a sanitizer sees a read beyond it.
        std::vector<char> exact(kept);
        std::span<char> rest(exact);
        RequestReader::Outcome outcome{};
        while ((outcome = reader.read(rest, request)) == RequestReader::Outcome::kRequest) {
            SLUICE_CHECK(reader.used() <= rest.size() && reader.used() > 0);
            SLUICE_CHECK(lies_within(request.body, rest) && request.body.size() <= limits.body);
            SLUICE_CHECK(lies_within(request.method, rest));
            log.requests.push_back(describe(request));
            rest = rest.subspan(reader.used());
        }
        if (outcome == RequestReader::Outcome::kError) {
            log.error = reader.error().status;
            return log;
        }
        kept.assign(rest.begin(), rest.end());
    }
    return log;
}

void exercise_reader(std::span<const std::uint8_t> bytes) {
    if (bytes.empty()) return;
    static const WireLimits kSmall{.header = 512, .body = 256};
    const std::size_t piece = bytes[0];
    const std::string text(bytes.begin() + 1, bytes.end());
    const ReaderLog at_once = log_reading(text, text.size(), kSmall);
    SLUICE_CHECK(at_once == log_reading(text, piece, kSmall));
    SLUICE_CHECK(at_once == log_reading(text, 1, kSmall));
}

}  // namespace sluice::http
