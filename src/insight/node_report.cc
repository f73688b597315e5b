#include "insight/node_report.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>
#include <utility>

namespace sluice::insight {
namespace {

constexpr std::string_view kFormat = "sluice-report-2";

bool is_plain(unsigned char byte) {
    return byte > ' ' && byte != '%' && byte != 0x7f;
}

// Writes words, with every byte that could be a separator as %XX.
class Writer {
  public:
    Writer& line(char kind) {
        out_ += '\n';
        out_ += kind;
        return *this;
    }
    Writer& number(std::uint64_t value) {
        out_ += ' ';
        out_ += std::to_string(std::min(value, kMaxSum));
        return *this;
    }
    Writer& text(std::string_view value) {
        constexpr std::string_view kDigits = "0123456789abcdef";
        out_ += ' ';
        for (const char c : value) {
            const auto byte = static_cast<unsigned char>(c);
            if (is_plain(byte)) {
                out_ += c;
                continue;
            }
            out_ += '%';
            out_ += kDigits[byte >> 4U];
            out_ += kDigits[byte & 0xFU];
        }
        return *this;
    }
    std::size_t size() const { return out_.size(); }
    std::string take() { return std::move(out_); }

  private:
    std::string out_{kFormat};
};

// Reads the words of a line. After the first that is invalid, all are empty or 0, and failed().
class Reader {
  public:
    explicit Reader(std::string_view line) : rest_(line) {}

    std::uint64_t number() {
        const std::string_view word = next();
        std::uint64_t value = 0;
        const char* const end = word.data() + word.size();
        const auto [stopped, failure] = std::from_chars(word.data(), end, value);
        if (failure != std::errc{} || stopped != end || value > kMaxSum) failed_ = true;
        return failed_ ? 0 : value;
    }
    std::string text() {
        const std::string_view word = next();
        std::string value;
        for (std::size_t i = 0; i < word.size() && !failed_; ++i) {
            if (word[i] != '%') {
                value += word[i];
                continue;
            }
            unsigned byte = 0;
            const char* const begin = word.data() + i + 1;
            if (i + 2 >= word.size() ||
                std::from_chars(begin, begin + 2, byte, 16).ptr != begin + 2)
                failed_ = true;
            value += static_cast<char>(byte);
            i += 2;
        }
        return value;
    }
    bool failed() const { return failed_ || !rest_.empty(); }

  private:
    std::string_view next() {
        if (rest_.empty() || rest_[0] != ' ') {
            failed_ = true;
            return {};
        }
        rest_.remove_prefix(1);
        const std::string_view word = rest_.substr(0, rest_.find(' '));
        rest_.remove_prefix(word.size());
        return word;
    }

    std::string_view rest_;
    bool failed_ = false;
};

std::uint64_t unsigned_of(std::int64_t value) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0));
}

std::uint64_t milliseconds_of(UnixTime time) {
    return unsigned_of(time.time_since_epoch().count());
}

UnixTime time_of(std::uint64_t milliseconds) {
    return UnixTime{std::chrono::milliseconds{milliseconds}};
}

void write_key(Writer& writer, const TopKey& key) {
    writer.line('k')
        .text(key.text->workspace)
        .text(key.text->name_space)
        .text(key.text->identifier)
        .number(key.text->is_namespace_cut ? 1 : 0)
        .number(key.text->cut_id)
        .number(key.denials)
        .number(key.denials_error)
        .number(key.spend)
        .number(key.spend_error)
        .number(unsigned_of(key.limit))
        .number(unsigned_of(key.duration.count()))
        .number(milliseconds_of(key.last))
        .number(milliseconds_of(key.last_denied));
}

TopKey read_key(Reader& reader) {
    KeyText text{.workspace = reader.text(),
                 .name_space = shown_text(reader.text()),
                 .identifier = shown_text(reader.text()),
                 .is_namespace_cut = reader.number() != 0,
                 .cut_id = reader.number()};
    TopKey key{.text = std::make_shared<const KeyText>(std::move(text)),
               .denials = reader.number(),
               .denials_error = reader.number(),
               .spend = reader.number(),
               .spend_error = reader.number(),
               .limit = static_cast<std::int64_t>(reader.number())};
    key.duration = std::chrono::milliseconds{reader.number()};
    key.last = time_of(reader.number());
    key.last_denied = time_of(reader.number());
    return key;
}

void add(std::uint64_t& sum, std::uint64_t term) {
    sum = capped_sum(sum, term);
}

// What is left of `whole` without `part`, which is larger if nodes list a key twice.
std::uint64_t remainder(std::uint64_t whole, std::uint64_t part) {
    return whole - std::min(part, whole);
}

// False if the line is invalid.
bool read_line(std::string_view line, NodeReport& report, WindowReport*& window) {
    if (line.empty()) return false;
    Reader reader(line.substr(1));
    switch (line[0]) {
        case 'n': {
            report.version = shown_text(reader.text());
            report.listen = shown_text(reader.text());
            const std::uint64_t state = reader.number();
            if (state > static_cast<std::uint64_t>(NodeState::kDraining)) return false;
            report.state = static_cast<NodeState>(state);
            report.started_at = time_of(reader.number());
            report.keys_held = reader.number();
            report.overrides_version = reader.number();
            report.origin_unavailable = reader.number() != 0;
            report.global_unavailable = reader.number() != 0;
            report.bus_unavailable = reader.number() != 0;
            break;
        }
        case 'w': {
            const std::uint64_t index = reader.number();
            if (index >= kWindows) return false;
            window = &report.windows[index];
            break;
        }
        case 'u':
            if (window == nullptr) return false;
            window->unlisted_denials = reader.number();
            window->unlisted_spend = reader.number();
            break;
        case 'o':
            if (window == nullptr) return false;
            window->totals.other_denied = reader.number();
            window->totals.other_spend = reader.number();
            break;
        case 't':
            if (window == nullptr) return false;
            window->totals.namespaces.push_back({.workspace = reader.text(),
                                                 .name_space = shown_text(reader.text()),
                                                 .is_cut = reader.number() != 0,
                                                 .denied = reader.number(),
                                                 .spend = reader.number()});
            break;
        case 'k':
            if (window == nullptr) return false;
            window->keys.push_back(read_key(reader));
            break;
        default:
            return false;
    }
    return !reader.failed();
}

}  // namespace

std::string encode(const NodeReport& report) {
    Writer writer;
    writer.line('n')
        .text(report.version)
        .text(report.listen)
        .number(static_cast<std::uint64_t>(report.state))
        .number(milliseconds_of(report.started_at))
        .number(report.keys_held)
        .number(report.overrides_version)
        .number(report.origin_unavailable ? 1 : 0)
        .number(report.global_unavailable ? 1 : 0)
        .number(report.bus_unavailable ? 1 : 0);
    constexpr std::size_t kLongestLine = 8UL * 1024;
    for (std::size_t i = 0; i < kWindows; ++i) {
        const WindowReport& window = report.windows[i];
        const std::size_t end = kMaxReportBytes * (i + 1) / kWindows - kLongestLine;
        const std::size_t end_of_totals = (writer.size() + end) / 2;
        std::uint64_t unlisted_denials = window.unlisted_denials;
        std::uint64_t unlisted_spend = window.unlisted_spend;
        writer.line('w').number(i);
        std::uint64_t other_denied = window.totals.other_denied;
        std::uint64_t other_spend = window.totals.other_spend;
        for (const NamespaceTotal& total : window.totals.namespaces) {
            if (writer.size() >= end_of_totals) {
                add(other_denied, total.denied);
                add(other_spend, total.spend);
                continue;
            }
            writer.line('t')
                .text(total.workspace)
                .text(total.name_space)
                .number(total.is_cut ? 1 : 0)
                .number(total.denied)
                .number(total.spend);
        }
        writer.line('o').number(other_denied).number(other_spend);
        for (const TopKey& key : window.keys) {
            if (writer.size() < end) {
                write_key(writer, key);
                continue;
            }
            unlisted_denials =
                std::max(unlisted_denials, capped_sum(key.denials, key.denials_error));
            unlisted_spend = std::max(unlisted_spend, capped_sum(key.spend, key.spend_error));
        }
        writer.line('u').number(unlisted_denials).number(unlisted_spend);
    }
    return writer.take();
}

std::optional<NodeReport> decode(std::string_view text) {
    if (text.size() > kMaxReportBytes || !text.starts_with(kFormat)) return std::nullopt;
    text.remove_prefix(kFormat.size());
    NodeReport report;
    WindowReport* window = nullptr;
    std::size_t lines = 0;
    while (!text.empty()) {
        if (text[0] != '\n' || ++lines > kMaxReportLines) return std::nullopt;
        text.remove_prefix(1);
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(line.size());
        if (!read_line(line, report, window)) return std::nullopt;
    }
    return report;
}

TopKeys merge_top_keys(std::vector<const WindowReport*> nodes, const TopQuery& query) {
    using Name = std::tuple<std::string_view, std::string_view, std::string_view, std::uint64_t>;
    struct Sum {
        TopKey key;
        std::uint64_t listed_denials = 0;  // what its nodes would count if they didn't list it
        std::uint64_t listed_spend = 0;
    };
    std::map<Name, Sum> sums;
    std::uint64_t unlisted_denials = 0;
    std::uint64_t unlisted_spend = 0;
    TopKeys top;
    const bool is_by_denials = query.by == Ranking::kDenials;
    for (const WindowReport* const node : nodes) {
        add(unlisted_denials, node->unlisted_denials);
        add(unlisted_spend, node->unlisted_spend);
        const Totals& totals = node->totals;
        if ((is_by_denials ? totals.other_denied : totals.other_spend) > 0)
            top.is_total_minimum = true;
        for (const NamespaceTotal& total : totals.namespaces) {
            if (query.is_visible(total.shown()))
                add(top.total, is_by_denials ? total.denied : total.spend);
        }
        for (const TopKey& key : node->keys) {
            const KeyText& text = *key.text;
            if (!query.is_visible(namespace_of(text))) continue;
            const auto [held, is_new] = sums.try_emplace(
                Name(text.workspace, text.name_space, text.identifier, text.cut_id));
            Sum& sum = held->second;
            add(sum.listed_denials, node->unlisted_denials);
            add(sum.listed_spend, node->unlisted_spend);
            sum.key.text = is_new ? key.text : sum.key.text;
            add(sum.key.denials, key.denials);
            add(sum.key.denials_error, key.denials_error);
            add(sum.key.spend, key.spend);
            add(sum.key.spend_error, key.spend_error);
            sum.key.last_denied = std::max(sum.key.last_denied, key.last_denied);
            if (!is_new && key.last <= sum.key.last) continue;
            sum.key.limit = key.limit;
            sum.key.duration = key.duration;
            sum.key.last = key.last;
        }
    }
    std::uint64_t counted = 0;
    for (auto& [name, sum] : sums) {
        add(sum.key.denials_error, remainder(unlisted_denials, sum.listed_denials));
        add(sum.key.spend_error, remainder(unlisted_spend, sum.listed_spend));
        const std::uint64_t weight = is_by_denials ? sum.key.denials : sum.key.spend;
        add(counted, weight);
        if (weight > 0) top.keys.push_back(std::move(sum.key));
    }
    top.total = std::max(top.total, counted);
    std::ranges::stable_sort(top.keys, [&](const TopKey& a, const TopKey& b) {
        return is_by_denials ? a.denials > b.denials : a.spend > b.spend;
    });
    if (top.keys.size() > query.most) top.keys.resize(query.most);
    return top;
}

}  // namespace sluice::insight
