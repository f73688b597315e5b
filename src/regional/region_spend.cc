// Region: requests that the origin decides, queued by key, one call per key at a time.
#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "counter/epoch.h"
#include "regional/region.h"
#include "window/sharing.h"

namespace sluice {
namespace {

// Keys in one call, so that none waits for a long one.
constexpr std::size_t kKeysPerCall = 256;
// Requests of one key in one call.
constexpr std::size_t kRequestsPerCall = 1'024;

// `cell` must outlive it.
Request request_of(const CellName& cell) {
    return {.workspace = cell.workspace,
            .name_space = cell.name_space,
            .identifier = cell.identifier,
            .limit = 0,
            .duration = cell.duration};
}

CellName cell_of(const Request& request, Sequence sequence) {
    return {.workspace = std::string(request.workspace),
            .name_space = std::string(request.name_space),
            .identifier = std::string(request.identifier),
            .duration = request.duration,
            .sequence = sequence};
}

}  // namespace

Entry& Region::entry_for(const CellName& cell, UnixTime now) {
    const Request request = request_of(cell);
    return table_.entry_of(table_.key(request), now);
}

void Region::spend(const Request& request, UnixTime now, Decided decided) {
    const std::uint64_t hash = table_.key(request).hash();
    if (!accepts_calls() || failing_keys_.is_paused(hash, config_.clock()))
        return decided(std::nullopt);
    Instant at;
    {
        const EpochPin pin;
        table_.entry_for(table_.key(request), now, at);
    }
    const auto key = spends_by_key_.try_emplace(cell_of(request, at.sequence)).first;
    auto& [queued, is_underway] = key->second;
    queued.push_back({.request = {.elapsed = at.elapsed,
                                  .ask = {.cost = static_cast<Count>(request.cost),
                                          .limit = static_cast<Count>(request.limit)}},
                      .now = now,
                      .expires = config_.clock() + config_.request_timeout,
                      .decided = std::move(decided)});
    if (!is_underway && queued.size() == 1) ready_.push_back(key);
    config_.again();
}

// While a call is underway, the next one is delayed until it is answered, for up to kCollectSpends,
// and takes all keys that become ready by then: a call with its answer takes several times the work
// of one more key in it.
bool Region::delays_spends(Time now) const {
    if (awaits_first_heartbeat()) return true;
    return spend_calls_underway_ != 0 && !origin_.is_sharded() &&
           now < spends_sent_at_ + kCollectSpends;
}

// A request that has expired was decided by its caller: a grant would only leave credit behind.
void Region::drop_expired_spends(Time now) {
    std::vector<PendingSpend> expired;
    std::erase_if(ready_, [&](SpendsByKey::iterator key) {
        std::vector<PendingSpend>& queued = key->second.queued;
        const auto end = std::ranges::find_if(
            queued, [&](const PendingSpend& pending) { return pending.expires > now; });
        std::move(queued.begin(), end, std::back_inserter(expired));
        queued.erase(queued.begin(), end);
        if (!queued.empty()) return false;
        spends_by_key_.erase(key);
        return true;
    });
    for (const PendingSpend& pending : expired)
        pending.decided(std::nullopt);
}

void Region::send_spends(Time now) {
    if (ready_.empty() || delays_spends(now)) return;
    drop_expired_spends(now);
    spends_sent_at_ = now;
    const std::vector<SpendsByKey::iterator> ready = std::exchange(ready_, {});
    // A call is answered when the slowest of its servers has answered.
    const std::size_t most = origin_.is_sharded() ? 1 : kKeysPerCall;
    for (std::span rest(ready); !rest.empty(); rest = rest.subspan(std::min(rest.size(), most)))
        send_spends(rest.first(std::min(rest.size(), most)));
}

void Region::send_spends(std::span<const SpendsByKey::iterator> ready) {
    std::vector<KeySpend> spends;
    auto calls = std::make_shared<std::vector<SpendCall>>();
    for (const auto& key : ready) {
        KeySpend spend;
        if (auto call = begin_call(key, spend)) {
            calls->push_back(*std::move(call));
            spends.push_back(std::move(spend));
        } else {
            ready_.push_back(key);
        }
    }
    if (spends.empty()) return config_.again();
    const Time began = config_.clock();
    spend_calls_.fetch_add(spends.size(), std::memory_order_relaxed);
    ++spend_calls_underway_;
    origin_.spend(std::move(spends), [this, began, calls](std::vector<SpendAnswer> answers) {
        --spend_calls_underway_;
        record<SpendAnswer>(began, answers);
        // All first: a key may be in the call with two windows, and its callers decide by both.
        for (std::size_t i = 0; i < calls->size() && !has_given_up_; ++i)
            merge_answer((*calls)[i], answers[i]);
        for (std::size_t i = 0; i < calls->size() && !has_given_up_; ++i)
            end_call((*calls)[i], answers[i]);
        config_.again();
    });
}

// None if the entry is being removed: a request that is admitted in it meanwhile may be entered in
// its successor, and must not be written from both.
std::optional<Region::SpendCall> Region::begin_call(SpendsByKey::iterator key, KeySpend& spend) {
    const CellName& cell = key->first;
    std::vector<PendingSpend>& queued = key->second.queued;
    const EpochPin pin;
    Entry& entry = entry_for(cell, queued.front().now);
    const EntrySync sync(entry, cell.sequence, queued.front().now);
    if (!entry.stays()) {
        static_cast<void>(table_.changed().mark(entry));  // keeps it, unless it is gone
        return std::nullopt;
    }
    spend.components = sync.components(entry);
    for (std::size_t i = 0; i < 2; ++i) {
        const Sequence sequence = cell.sequence - static_cast<Sequence>(i);
        const Count admitted = entry.admitted(sequence).of(sequence);
        spend.extra[i] = entry.global(sequence) + admitted - std::min(admitted, sync.own()[i]);
    }
    entry.suspend_view();
    SpendCall call{.cell = cell,
                   .hash = entry.hash(),
                   .spends = {},
                   .sync = sync,
                   .most_at_origin = entry.most_at_origin(cell.sequence),
                   .resubmissions = resubmissions_.load(std::memory_order_relaxed)};
    const auto end =
        queued.begin() + static_cast<std::ptrdiff_t>(std::min(queued.size(), kRequestsPerCall));
    call.spends.assign(std::move_iterator(queued.begin()), std::move_iterator(end));
    queued.erase(queued.begin(), end);
    // This node's spend in a cell that has left the entry's ring is not known any more: the origin
    // grants nothing in it, and the request is decided in the ring's current cell.
    const bool is_held = entry.admitted(cell.sequence).load().belongs_to(cell.sequence);
    Count asked = entry.credit(cell.sequence);
    for (const PendingSpend& pending : call.spends) {
        spend.requests.push_back(pending.request);
        if (!is_held) spend.requests.back().ask.limit = 0;
        asked = saturating_add(asked, pending.request.ask.cost);
    }
    entry.set_credit(cell.sequence, asked);
    key->second.is_underway = true;
    return call;
}

void Region::merge_answer(const SpendCall& call, const SpendAnswer& answer) {
    note_answer(call.hash, answer);
    if (!answer) return;
    spends_.fetch_add(call.spends.size(), std::memory_order_relaxed);
    const EpochPin pin;
    Entry& entry = entry_for(call.cell, call.spends.back().now);
    // First, since the requests that it denied would look like a part of what is known.
    note_credit(call, *answer, entry);
    call.sync.merge_peers(answer->totals, entry);
}

// Callers are answered outside of pins: they decide, and may call spend() again, for the same key
// as well. Its call is over by then.
void Region::end_call(SpendCall& call, const SpendAnswer& answer) {
    const auto key = spends_by_key_.find(call.cell);
    key->second.is_underway = false;
    if (!key->second.queued.empty()) {
        ready_.push_back(key);
    } else {
        spends_by_key_.erase(key);
    }
    deliver(call, answer);
    const std::vector<PendingSpend> queued = settle_call(call, answer);
    for (const PendingSpend& pending : queued)
        pending.decided(OriginVerdict{.granted = false, .grant = {}});
}

// An origin that holds less than it did has lost it, but peers may have read it before.
void Region::note_credit(const SpendCall& call, const KeyGrants& grants, Entry& entry) {
    if (!call.sync.is_of(entry)) return;
    const Sequence sequence = call.cell.sequence;
    const Count held = std::max(grants.totals[0].own, call.most_at_origin);
    const Count admitted = entry.admitted(sequence).of(sequence);
    entry.set_credit(sequence, held - std::min(held, admitted));
}

void Region::deliver(const SpendCall& call, const SpendAnswer& answer) {
    const Grant grant{.sequence = call.cell.sequence, .incarnation = call.sync.incarnation()};
    for (std::size_t i = 0; i < call.spends.size(); ++i) {
        std::optional<OriginVerdict> verdict;
        if (answer) verdict = OriginVerdict{.granted = answer->granted[i], .grant = grant};
        call.spends[i].decided(verdict);
    }
}

// After the grants were entered in the entry: before, they would look like credit.
std::vector<Region::PendingSpend> Region::settle_call(const SpendCall& call,
                                                      const SpendAnswer& answer) {
    const Sequence sequence = call.cell.sequence;
    const EpochPin pin;
    Entry& entry = entry_for(call.cell, call.spends.back().now);
    if (call.sync.is_of(entry)) entry.resume_view();
    if (!answer) return {};
    Count granted = 0;
    for (std::size_t i = 0; i < call.spends.size(); ++i)
        if (answer->granted[i]) granted += call.spends[i].request.ask.cost;
    call.sync.note_synced(granted, entry);
    note_credit(call, *answer, entry);
    std::vector<PendingSpend> queued = use_view(entry, call);
    // The origin takes a flush of later passes that overtook the call for credit. And it may have
    // lost the grant, after everything else was written again.
    if (entry.unsynced(sequence) != 0 ||
        call.resubmissions != resubmissions_.load(std::memory_order_relaxed)) {
        entry.note_late();
        static_cast<void>(table_.changed().mark(entry));
        table_.changed().urge(entry);
    }
    if (config_.counted) config_.counted(entry);
    return queued;
}

// Whether this node's share is eight requests or more. Then it decides locally, or a key under
// constant load would stay with the origin. With less, in a burst, the nodes' shares together
// would be what passes beyond the limit.
bool Region::has_ample_share(Entry& entry, const PendingSpend& last, Sequence sequence) const {
    const NodeCount nodes = table_.nodes();
    if (nodes <= 1) return nodes == 1;
    const Spent spent{.current = entry.spent(sequence), .previous = entry.spent(sequence - 1)};
    const Verdict left = weigh(spent,
                               last.request.elapsed,
                               entry.duration(),
                               {.cost = 0, .limit = last.request.ask.limit});
    return left.remaining >= kShareParts * kShareParts * nodes;
}

// With an ample share, queued requests of the key are decided locally at once: they are returned.
// Otherwise the view counts as young from the next step on, unless requests are queued for the key
// by then.
std::vector<Region::PendingSpend> Region::use_view(Entry& entry, const SpendCall& call) {
    const auto key = spends_by_key_.find(call.cell);
    if (!has_ample_share(entry, call.spends.back(), call.cell.sequence)) {
        if (key == spends_by_key_.end())
            new_views_.push_back({.cell = call.cell, .sync = call.sync});
        return {};
    }
    call.sync.note_view(entry);
    if (key == spends_by_key_.end() || key->second.is_underway) return {};
    std::vector<PendingSpend> queued = std::move(key->second.queued);
    std::erase(ready_, key);
    spends_by_key_.erase(key);
    return queued;
}

void Region::apply_new_views() {
    if (new_views_.empty()) return;
    const EpochPin pin;
    for (const NewView& view : std::exchange(new_views_, {})) {
        if (spends_by_key_.contains(view.cell)) continue;
        const Request request = request_of(view.cell);
        Entry* const entry = table_.find(table_.key(request));
        if (entry != nullptr) view.sync.note_view(*entry);
    }
}

void Region::give_up() {
    has_given_up_ = true;
    ready_.clear();
    for (auto& [cell, spends] : std::exchange(spends_by_key_, {}))
        for (const PendingSpend& pending : spends.queued)
            pending.decided(std::nullopt);
}

}  // namespace sluice
