#include "insight/traffic_history.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace sluice::insight {
namespace {

// What is left of a row's recent decisions a second later: half after a minute.
constexpr double kKept = 0.9885;

void add_to(std::uint32_t& sum, std::uint64_t amount) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
    sum = static_cast<std::uint32_t>(std::min(kMost, sum + amount));
}

std::int64_t signed_of(std::uint64_t number) {
    return static_cast<std::int64_t>(number);
}

}  // namespace

TrafficHistory::TrafficHistory() : seconds_(kSeconds) {}

// A second that was skipped keeps its old number, and so counts as empty.
TrafficHistory::Second& TrafficHistory::second_at(std::int64_t number) {
    Second& second = seconds_[static_cast<std::size_t>(number) % kSeconds];
    if (second.number != number) {
        second = {};
        second.number = number;
    }
    if (number > newest_) {
        const double kept =
            newest_ < 0 ? 1 : std::pow(kKept, static_cast<double>(number - newest_));
        for (Row& row : rows_)
            row.recent *= kept;
        newest_ = number;
    }
    return second;
}

const TrafficHistory::Second* TrafficHistory::find(std::int64_t number) const {
    if (number < 0) return nullptr;
    const Second& second = seconds_[static_cast<std::size_t>(number) % kSeconds];
    return second.number == number ? &second : nullptr;
}

void TrafficHistory::add(const Batch& batch, std::int64_t number) {
    Second& second = second_at(number);
    second.passed += batch.total.passed;
    second.denied += batch.total.denied;
    second.spend = capped_sum(second.spend, batch.total.spend);
    for (const NamespaceCounts& counts : batch.namespaces) {
        if (counts.hash == 0) continue;
        Row* const row = row_of(counts);
        if (row == nullptr) continue;
        row->recent += static_cast<double>(counts.passed + counts.denied);
        Counts& held = second.rows[static_cast<std::size_t>(row - rows_.data())];
        add_to(held.passed, counts.passed);
        add_to(held.denied, counts.denied);
        held.spend = capped_sum(held.spend, counts.spend);
    }
}

// Null if all rows are of namespaces that are busier.
TrafficHistory::Row* TrafficHistory::row_of(const NamespaceCounts& counts) {
    Row* least = &rows_[0];
    for (Row& row : rows_) {
        if (row.hash == counts.hash) return &row;
        if (row.recent < least->recent || row.hash == 0) least = &row;
        if (row.hash == 0) break;
    }
    const bool is_busier = static_cast<double>(counts.passed + counts.denied) > least->recent;
    if (least->hash != 0 && !is_busier) return nullptr;
    take_over(*least, counts);
    return least;
}

void TrafficHistory::take_over(Row& row, const NamespaceCounts& counts) {
    const auto at = static_cast<std::size_t>(&row - rows_.data());
    if (row.hash != 0) {
        for (Second& second : seconds_)
            second.rows[at] = {};
    }
    row = {.hash = counts.hash,
           .workspace = counts.workspace,
           .name_space = counts.name_space,
           .is_cut = counts.is_cut,
           .recent = 0};
}

void TrafficHistory::set_state(const StateSample& state, std::int64_t second) {
    second_at(second).state = state;
}

TrafficReport TrafficHistory::report(const Range& range, const IsVisible& is_visible) const {
    const auto steps = static_cast<std::size_t>((range.seconds + range.step - 1) / range.step);
    const std::int64_t first = range.end - signed_of(steps) * range.step;
    const TrafficReport::Numbers zeros(steps);
    TrafficReport report{.from = UnixTime{std::chrono::seconds{first}},
                         .step = std::chrono::seconds{range.step},
                         .passed = zeros,
                         .denied = zeros,
                         .namespaces = {},
                         .p50 = zeros,
                         .p99 = zeros,
                         .p999 = zeros,
                         .keys_held = zeros,
                         .oldest_unsynced = zeros,
                         .import_age = zeros,
                         .origin_unavailable = zeros,
                         .global_unavailable = zeros,
                         .bus_unavailable = zeros,
                         .breaker_open = zeros};
    std::array<std::size_t, kNamespaces> listed{};  // 1 more than the index in `namespaces`
    for (std::size_t i = 0; i < kNamespaces; ++i) {
        const Row& row = rows_[i];
        if (row.hash == 0 || !is_visible({row.workspace, row.name_space, row.is_cut})) continue;
        // Namespaces that are shown as the same are listed as one.
        const auto same =
            std::find_if(rows_.begin(), rows_.begin() + signed_of(i), [&](auto& each) {
                return row.is_cut && each.is_cut && each.name_space == row.name_space &&
                       each.workspace == row.workspace;
            });
        listed[i] = listed[static_cast<std::size_t>(same - rows_.begin())];
        if (listed[i] != 0) continue;
        report.namespaces.push_back({row.name_space, zeros, zeros});
        listed[i] = report.namespaces.size();
    }
    for (std::int64_t number = first; number < range.end; ++number) {
        const Second* const second = find(number);
        if (second == nullptr) continue;
        const auto at = static_cast<std::size_t>((number - first) / range.step);
        const StateSample& state = second->state;
        report.passed[at] += signed_of(second->passed);
        report.denied[at] += signed_of(second->denied);
        report.p50[at] = std::max<std::int64_t>(report.p50[at], state.latency.p50);
        report.p99[at] = std::max<std::int64_t>(report.p99[at], state.latency.p99);
        report.p999[at] = std::max<std::int64_t>(report.p999[at], state.latency.p999);
        report.keys_held[at] = signed_of(state.keys_held);
        report.oldest_unsynced[at] = state.oldest_unsynced.count();
        report.import_age[at] = state.import_age.count();
        report.origin_unavailable[at] += state.origin_unavailable ? 1 : 0;
        report.global_unavailable[at] += state.global_unavailable ? 1 : 0;
        report.bus_unavailable[at] += state.bus_unavailable ? 1 : 0;
        report.breaker_open[at] += state.breaker_open ? 1 : 0;
        for (std::size_t i = 0; i < kNamespaces; ++i) {
            if (listed[i] == 0) continue;
            report.namespaces[listed[i] - 1].passed[at] += second->rows[i].passed;
            report.namespaces[listed[i] - 1].denied[at] += second->rows[i].denied;
        }
    }
    const auto total = [](const TrafficReport::Namespace& each) {
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < each.passed.size(); ++i)
            sum += each.passed[i] + each.denied[i];
        return sum;
    };
    std::erase_if(report.namespaces,
                  [&](const TrafficReport::Namespace& each) { return total(each) == 0; });
    std::ranges::stable_sort(report.namespaces, std::ranges::greater{}, total);
    return report;
}

Totals TrafficHistory::totals_since(std::int64_t first) const {
    std::array<NamespaceTotal, kNamespaces> sums;
    Totals totals;
    for (std::int64_t number = std::max<std::int64_t>(first, newest_ - signed_of(kSeconds) + 1);
         number <= newest_;
         ++number) {
        const Second* const second = find(number);
        if (second == nullptr) continue;
        std::uint64_t other_denied = second->denied;
        std::uint64_t other_spend = second->spend;
        for (std::size_t i = 0; i < kNamespaces; ++i) {
            const Counts& row = second->rows[i];
            sums[i].denied += row.denied;
            sums[i].spend = capped_sum(sums[i].spend, row.spend);
            other_denied -= std::min<std::uint64_t>(row.denied, other_denied);
            other_spend -= std::min(row.spend, other_spend);
        }
        totals.other_denied += other_denied;
        totals.other_spend = capped_sum(totals.other_spend, other_spend);
    }
    for (std::size_t i = 0; i < kNamespaces; ++i) {
        if (rows_[i].hash == 0 || (sums[i].denied == 0 && sums[i].spend == 0)) continue;
        sums[i].workspace = rows_[i].workspace;
        sums[i].name_space = rows_[i].name_space;
        sums[i].is_cut = rows_[i].is_cut;
        totals.namespaces.push_back(std::move(sums[i]));
    }
    return totals;
}

}  // namespace sluice::insight
