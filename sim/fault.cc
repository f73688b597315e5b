#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "config/duration.h"
#include "sim/options.h"

namespace sluice::sim {
namespace {

// The kind of value after the = of a fault.
enum class Amount { kNone, kTime, kSignedTime, kShare, kNumber };

struct Name {
    std::string_view text;
    FaultKind kind;
    Amount amount;
    std::int64_t fallback;  // default amount
};

constexpr std::int64_t kSecond = 1'000'000'000;

constexpr std::array kNames = {
    Name{"origin-down", FaultKind::kOriginDown, Amount::kNone, 0},
    Name{"origin-slow", FaultKind::kOriginSlow, Amount::kTime, kSecond / 10},
    Name{"origin-empty", FaultKind::kOriginEmpty, Amount::kNone, 0},
    Name{"origin-stale", FaultKind::kOriginStale, Amount::kTime, 5 * kSecond},
    Name{"origin-refuses-writes", FaultKind::kOriginRefusesWrites, Amount::kNone, 0},
    Name{"store-down", FaultKind::kStoreDown, Amount::kNone, 0},
    Name{"store-slow", FaultKind::kStoreSlow, Amount::kTime, kSecond},
    Name{"store-busy", FaultKind::kStoreBusy, Amount::kShare, 500},
    Name{"store-lag", FaultKind::kStoreLag, Amount::kTime, 5 * kSecond},
    Name{"store-failover", FaultKind::kStoreFailover, Amount::kTime, 5 * kSecond},
    Name{"store-clock", FaultKind::kStoreClock, Amount::kSignedTime, -30 * kSecond},
    Name{"store-cleanup", FaultKind::kStoreCleanup, Amount::kTime, 600 * kSecond},
    Name{"bus-down", FaultKind::kBusDown, Amount::kNone, 0},
    Name{"bus-loss", FaultKind::kBusLoss, Amount::kShare, 500},
    Name{"bus-slow", FaultKind::kBusSlow, Amount::kTime, kSecond},
    Name{"partition", FaultKind::kPartition, Amount::kNone, 0},
    Name{"crash", FaultKind::kCrash, Amount::kNone, 0},
    Name{"restart", FaultKind::kRestart, Amount::kNone, 0},
    Name{"rolling-restart", FaultKind::kRollingRestart, Amount::kTime, 5 * kSecond},
    Name{"clock-step", FaultKind::kClockStep, Amount::kSignedTime, kSecond},
    Name{"pause", FaultKind::kPause, Amount::kNone, 0},
    Name{"burst", FaultKind::kBurst, Amount::kShare, 10'000},
    Name{"volley", FaultKind::kVolley, Amount::kNumber, 100},
};

std::optional<Moment> parse_time(std::string_view text) {
    const auto time = config::parse_duration(text);
    if (!time) return std::nullopt;
    return Moment{*time};
}

std::optional<Target> parse_target(std::string_view text) {
    if (text == "store") return Target{Target::Kind::kStore, 0};
    Target target;
    if (text.starts_with("region-")) {
        target.kind = Target::Kind::kRegion;
    } else if (text.starts_with("node-")) {
        target.kind = Target::Kind::kNode;
    } else {
        return std::nullopt;
    }
    text.remove_prefix(text.find('-') + 1);
    const auto [end, failed] =
        std::from_chars(text.data(), text.data() + text.size(), target.index);
    if (failed != std::errc{} || end != text.data() + text.size() || target.index == 0)
        return std::nullopt;
    --target.index;
    return target;
}

std::optional<std::int64_t> parse_amount(Amount amount, std::string_view text) {
    if (amount == Amount::kShare) {
        const auto share = parse_permille(text);
        if (!share || *share == 0) return std::nullopt;
        return static_cast<std::int64_t>(*share);
    }
    if (amount == Amount::kNumber) {
        std::int64_t number = 0;
        const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
        const bool is_right = failed == std::errc{} && end == text.data() + text.size();
        return is_right && number > 0 && number <= 1'000'000 ? std::optional(number) : std::nullopt;
    }
    const bool is_negative = amount == Amount::kSignedTime && text.starts_with('-');
    if (is_negative) text.remove_prefix(1);
    const auto time = parse_time(text);
    if (amount == Amount::kNone || !time) return std::nullopt;
    return is_negative ? -time->count() : time->count();
}

// Splits `text` at the first `mark` and returns what follows it.
std::optional<std::string_view> cut(std::string_view& text, char mark) {
    const std::size_t at = text.find(mark);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view after = text.substr(at + 1);
    text = text.substr(0, at);
    return after;
}

Error wrong(std::string_view spec, const std::string& why) {
    return {kInvalidOption, "--fault is \"" + std::string(spec) + "\": " + why + "\n" + kFaultHelp};
}

// Applies a setting of the whole run. None if `name` is not one of them.
std::optional<bool> set(std::string_view name, std::string_view value, FaultPlan& plan) {
    const auto share = parse_permille(value);
    const auto time = parse_time(value);
    if (name == "loss" || name == "duplicate" || name == "bus-loss") {
        if (!share || *share > 1'000) return false;
        (name == "loss"        ? plan.loss
         : name == "duplicate" ? plan.duplicate
                               : plan.bus_loss) = *share;
        return true;
    }
    if (name == "delay" || name == "jitter" || name == "skew") {
        if (!time) return false;
        (name == "delay" ? plan.delay : name == "jitter" ? plan.jitter : plan.skew) = *time;
        return true;
    }
    return std::nullopt;
}

}  // namespace

const char* const kFaultHelp =
    "A fault is NAME[=AMOUNT][:TARGET][@START[+LENGTH]]; TARGET is region-N, node-N or store.\n"
    "For the whole run:\n"
    "  loss=0.05  duplicate=0.02   of the messages between nodes and their origin\n"
    "  delay=2ms  jitter=50ms      of each message; jitter reorders\n"
    "  bus-loss=0.5                of the announcements, for each receiver\n"
    "  skew=2s                     of each node's clock, at most, either way\n"
    "From START on, for LENGTH:\n"
    "  origin-down  origin-slow=100ms  origin-empty  origin-stale=5s   [:region-N]\n"
    "  origin-refuses-writes (reads work)                              [:region-N]\n"
    "  store-down  store-slow=1s  store-busy=0.5  store-lag=5s\n"
    "  store-failover=5s (lacks the last rows)  store-clock=-30s (is wrong)\n"
    "  store-cleanup=10m (deletes by a clock that is ahead)\n"
    "  bus-down  bus-loss=0.5  bus-slow=1s                             (with --bus)\n"
    "  partition:node-N  partition:region-N  partition:store\n"
    "  crash:node-N  restart:node-N  rolling-restart=5s  pause:node-N\n"
    "  clock-step=-2s:node-N (for good without a LENGTH)  burst=10\n"
    "  volley=100 (that many requests for the first key, to each node at once)\n"
    "such as origin-empty@30s, store-down@60s+120s, partition:region-2@30s+60s";

std::optional<Permille> parse_permille(std::string_view text) {
    const bool is_percent = text.ends_with('%');
    if (is_percent) text.remove_suffix(1);
    std::uint64_t whole = 0;
    const char* const last = text.data() + text.size();
    auto [end, failed] = std::from_chars(text.data(), last, whole);
    if (failed != std::errc{} || whole > 1'000'000) return std::nullopt;
    std::uint64_t value = whole * 1'000;
    if (end != last) {
        if (*end++ != '.' || end == last || last - end > 3) return std::nullopt;
        for (std::uint64_t place = 100; end != last; ++end, place /= 10) {
            if (*end < '0' || *end > '9') return std::nullopt;
            value += static_cast<std::uint64_t>(*end - '0') * place;
        }
    }
    return is_percent ? value / 100 : value;
}

bool FaultPlan::has(FaultKind kind) const {
    return std::ranges::any_of(scheduled, [&](const Fault& fault) { return fault.kind == kind; });
}

std::optional<Error> add_fault(std::string_view spec, FaultPlan& plan) {
    std::string_view text = spec;
    const auto when = cut(text, '@');
    const auto target = cut(text, ':');
    const auto amount = cut(text, '=');
    if (amount && !when && !target) {
        if (const auto is_set = set(text, *amount, plan)) {
            if (*is_set) return std::nullopt;
            return wrong(spec, "invalid amount for " + std::string(text));
        }
    }
    const auto name = std::ranges::find(kNames, text, &Name::text);
    if (name == kNames.end()) return wrong(spec, "there is no such fault");
    Fault fault{.kind = name->kind, .amount = name->fallback, .spec = std::string(spec)};
    if (amount) {
        const auto parsed = parse_amount(name->amount, *amount);
        if (!parsed) return wrong(spec, "invalid amount for " + std::string(text));
        fault.amount = *parsed;
    }
    if (target) {
        const auto parsed = parse_target(*target);
        if (!parsed) return wrong(spec, "invalid target");
        fault.target = *parsed;
    }
    if (!when) return wrong(spec, "it needs a time, as in " + std::string(text) + "@30s");
    std::string_view start = *when;
    const auto length = cut(start, '+');
    const auto at = parse_time(start);
    const auto lasts = length ? parse_time(*length) : Moment{0};
    if (!at || !lasts) return wrong(spec, "invalid time");
    fault.at = *at;
    fault.lasts = *lasts;
    plan.scheduled.push_back(std::move(fault));
    return std::nullopt;
}

}  // namespace sluice::sim
