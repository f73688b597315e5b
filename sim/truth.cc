#include "sim/truth.h"

#include <algorithm>
#include <utility>

namespace sluice::sim {
namespace {

// Grants of one node within this time form one step.
constexpr std::int64_t kStepMs = 64;

}  // namespace

void GrantLog::add(const Grant& grant) {
    std::vector<NodeSteps>& nodes = cells_[{grant.key, grant.sequence}];
    auto node = std::ranges::find(nodes, grant.node, &NodeSteps::node);
    if (node == nodes.end())
        node = nodes.insert(node, {.region = grant.region, .node = grant.node, .steps = {}});
    std::vector<Step>& steps = node->steps;
    const Count sum = (steps.empty() ? 0 : steps.back().sum) + grant.cost;
    // A step counts from its last grant on.
    if (!steps.empty() && steps.back().at_ms / kStepMs == grant.at_ms / kStepMs) {
        steps.back() = {grant.at_ms, sum};
    } else {
        steps.push_back({grant.at_ms, sum});
    }
}

Count GrantLog::sum(const Query& query) const {
    const auto found = cells_.find({query.key, query.sequence});
    if (found == cells_.end()) return 0;
    Count sum = 0;
    for (const NodeSteps& node : found->second) {
        if (node.region != query.region || node.node == query.except_node) continue;
        const auto after = std::ranges::upper_bound(node.steps, query.by_ms, {}, &Step::at_ms);
        if (after != node.steps.begin()) sum += std::prev(after)->sum;
    }
    return sum;
}

KeyIndex key_of(std::string_view identifier) {
    KeyIndex number = 0;
    for (const char digit : identifier.substr(1)) {
        if (digit < '0' || digit > '9') break;
        number = number * 10 + static_cast<KeyIndex>(digit - '0');
    }
    return number;
}

void TrailingWindow::forget(std::int64_t until_ms) {
    if (first_ms_ > until_ms) return;
    while (first_ < spendings_.size() && spendings_[first_].at_ms <= until_ms)
        sum_ -= spendings_[first_++].cost;
    if (first_ >= 64 && first_ >= spendings_.size() / 2) {
        const auto gone = static_cast<std::ptrdiff_t>(first_);
        spendings_.erase(spendings_.begin(), spendings_.begin() + gone);
        first_ = 0;
    }
    const bool is_empty = first_ == spendings_.size();
    first_ms_ = is_empty ? std::numeric_limits<std::int64_t>::max() : spendings_[first_].at_ms;
    if (is_empty) last_ms_ = std::numeric_limits<std::int64_t>::min();
}

void TrailingWindow::add(std::int64_t at_ms, Count cost, std::int64_t duration_ms) {
    forget(at_ms - duration_ms);
    sum_ += cost;
    if (last_ms_ == at_ms) {
        spendings_.back().cost += cost;
        return;
    }
    spendings_.push_back({at_ms, cost});
    last_ms_ = at_ms;
    first_ms_ = std::min(first_ms_, at_ms);
}

Count TrailingWindow::sum_at(std::int64_t now_ms, std::int64_t duration_ms) {
    forget(now_ms - duration_ms);
    return sum_;
}

KeyIndex Truth::add_key(std::string identifier, std::uint32_t home) {
    keys_.push_back(
        {.identifier = std::move(identifier), .cells = {}, .trailing = {}, .home = home});
    by_region_.resize(keys_.size() * kTrueCells * regions_);
    lost_.resize(by_region_.size());
    return static_cast<KeyIndex>(keys_.size() - 1);
}

const TrueCell* Truth::find(KeyIndex key, Sequence sequence) const {
    const TrueCell& cell = keys_[key].cells[static_cast<std::size_t>(sequence) % kTrueCells];
    return cell.sequence == sequence ? &cell : nullptr;
}

TrueCell* Truth::open(KeyIndex key, Sequence sequence) {
    TrueCell& cell = keys_[key].cells[static_cast<std::size_t>(sequence) % kTrueCells];
    if (cell.sequence == sequence) return &cell;
    if (cell.sequence > sequence) return nullptr;
    close(cell);
    archive(key, cell);
    cell = {.sequence = sequence};
    for (std::uint32_t region = 0; region < regions_; ++region) {
        by_region_[place(key, sequence, region)] = 0;
        lost_[place(key, sequence, region)] = Lost::kNothing;
    }
    return &cell;
}

const Truth::PastCell* Truth::find_past(KeyIndex key, Sequence sequence) const {
    const auto found = past_.find({key, sequence});
    return found == past_.end() ? nullptr : &found->second;
}

void Truth::archive(KeyIndex key, const TrueCell& cell) {
    if (cell.total == 0) return;
    PastCell& past = past_[{key, cell.sequence}];
    past.total = cell.total;
    for (std::uint32_t region = 0; region < regions_; ++region)
        past.by_region.push_back(of_region(key, cell.sequence, region));
}

void Truth::close(const TrueCell& cell) {
    if (is_finished_ || cell.sequence <= first_sequence || load_.limit == 0) return;
    const Permille part = cell.total * 1'000 / load_.limit;
    fixed_.note(part);
    if (cell.demanded >= load_.limit) contended_.note(part);
}

void Truth::demand(KeyIndex key, Sequence sequence, Count cost) {
    if (TrueCell* const cell = open(key, sequence)) cell->demanded += cost;
}

void Truth::admit(
    KeyIndex key, Sequence sequence, std::uint32_t region, Count cost, std::int64_t now_ms) {
    if (cost == 0) return;
    const std::int64_t duration_ms = load_.duration.count();
    keys_[key].trailing.add(now_ms, cost, duration_ms);
    const Count sum = keys_[key].trailing.sum_at(now_ms, duration_ms);
    worst_trailing_ = std::max(worst_trailing_, sum * 1'000 / std::max<Count>(load_.limit, 1));
    TrueCell* const cell = open(key, sequence);
    if (cell == nullptr) {
        PastCell& past = past_[{key, sequence}];
        past.by_region.resize(regions_);
        past.total += cost;
        past.by_region[region] += cost;
        return;
    }
    cell->total += cost;
    (region == keys_[key].home ? cell->at_home : by_region_[place(key, sequence, region)]) += cost;
}

Count Truth::total(KeyIndex key, Sequence sequence) const {
    if (const TrueCell* const cell = find(key, sequence)) return cell->total;
    const PastCell* const past = find_past(key, sequence);
    return past == nullptr ? 0 : past->total;
}

Count Truth::of_region(KeyIndex key, Sequence sequence, std::uint32_t region) const {
    if (const TrueCell* const cell = find(key, sequence))
        return region == keys_[key].home ? cell->at_home : by_region_[place(key, sequence, region)];
    const PastCell* const past = find_past(key, sequence);
    return past == nullptr ? 0 : past->by_region[region];
}

void Truth::change_credit(
    KeyIndex key, Sequence sequence, std::uint32_t region, Count before, Count after) {
    if (before == after) return;
    const auto [credit, is_new] = credits_.try_emplace({key, sequence, region});
    credit->second += after - before;
    if (credit->second == 0) credits_.erase(credit);
}

Count Truth::reserved(KeyIndex key, Sequence sequence, std::uint32_t region) const {
    const auto credit = credits_.find({key, sequence, region});
    return of_region(key, sequence, region) + (credit == credits_.end() ? 0 : credit->second);
}

Count Truth::reserved(KeyIndex key, Sequence sequence) const {
    Count sum = total(key, sequence);
    for (auto credit = credits_.lower_bound({key, sequence, 0});
         credit != credits_.end() && std::get<0>(credit->first) == key &&
         std::get<1>(credit->first) == sequence;
         ++credit)
        sum += credit->second;
    return sum;
}

void Truth::excuse(KeyIndex key, Sequence sequence, std::uint32_t region, Count cost) {
    excused_[{key, sequence, region}] += cost;
}

Count Truth::excused(KeyIndex key, Sequence sequence, std::uint32_t region) const {
    const auto found = excused_.find({key, sequence, region});
    return found == excused_.end() ? 0 : found->second;
}

void Truth::lose(KeyIndex key, Sequence sequence, std::uint32_t region, Lost lost) {
    if (find(key, sequence) == nullptr) return;
    Lost& known = lost_[place(key, sequence, region)];
    known = std::max(known, lost);
}

Truth::Lost Truth::lost(KeyIndex key, Sequence sequence, std::uint32_t region) const {
    return find(key, sequence) == nullptr ? Lost::kNothing : lost_[place(key, sequence, region)];
}

void Truth::finish(std::int64_t end_ms) {
    for (const TrueKey& key : keys_)
        for (const TrueCell& cell : key.cells)
            if ((cell.sequence + 1) * load_.duration.count() <= end_ms) close(cell);
    is_finished_ = true;
}

}  // namespace sluice::sim
