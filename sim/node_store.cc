// A node's publish and import calls to the store.
#include <algorithm>
#include <utility>
#include <variant>

#include "sim/node.h"

namespace sluice::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The timeout of a call to the store.
constexpr Moment kStoreTimeout = seconds{3};

}  // namespace

Moment Node::store_delay() {
    // The distance between continents, and the execution of the statement.
    return milliseconds{15 + 12 * place_.region} + 10 * world_.message_delay() +
           world_.store.slowness;
}

void Node::publish_when_due() {
    const Moment at =
        std::max(World::since_start(global_sync_->publisher().wake_at()), world_.scheduler.now());
    if (is_publishing_ || at >= publish_alarm_) return;
    publish_alarm_ = at;
    world_.scheduler.at(at, [this, at] {
        process_.run(world_.scheduler, [this, at] {
            if (publish_alarm_ != at) return;
            publish_alarm_ = Moment::max();
            publish();
        });
    });
}

void Node::publish() {
    if (is_publishing_) return;
    const auto call = global_sync_->publisher().next(world_.steady(), wall());
    if (!call) return publish_when_due();
    const bool is_read = call->kind == Publisher::Call::Kind::kRead;
    is_publishing_ = true;
    notice_failover();
    if (!is_read)
        for (const RegionCount& row : call->rows)
            audit_->publishing(row.cell, row.count, world_.true_ms());
    const auto sent =
        std::make_shared<std::vector<RegionCount>>(call->rows.begin(), call->rows.end());
    const auto found = std::make_shared<std::vector<RegionRow>>();
    const auto answered = [this, sent, found, is_read](const StoreResult<PublishEnd>& end) {
        process_.run(world_.scheduler, [this, sent, found, is_read, end] {
            is_publishing_ = false;
            const auto* const failure = std::get_if<StoreFailure>(&end);
            world_.note(failure != nullptr ? TraceKind::kPublishFailed : TraceKind::kPublished,
                        place_.serial,
                        sent->size());
            if (failure == nullptr) {
                if (!is_read)
                    for (const RegionCount& row : *sent)
                        audit_->published(row.cell, row.count, world_.true_ms());
                for (const RegionRow& row : *found)
                    merge(row, ComponentSource::kStore);
            }
            global_sync_->answered(end, store_connection_, world_.steady());
            // The next call is made on a new connection.
            if (failure != nullptr && failure->kind == StoreFailure::Kind::kLost) {
                ++store_connection_;
                audit_->lost_store();
            }
            publish_when_due();
        });
    };
    const StoreFailure lost{StoreFailure::Kind::kLost, "the store does not answer"};
    if (is_cut_from_store || world_.store.is_down)
        return world_.scheduler.after(is_cut_from_store ? kStoreTimeout : store_delay(),
                                      [answered, lost] { answered(lost); });
    const Moment there = store_delay();
    world_.scheduler.after(
        there, [this, sent, found, answered, lost, there, is_read, seen = failovers_seen_] {
            if (world_.store.failovers != seen) return answered(lost);
            if (is_cut_from_store || world_.store.is_down)
                return world_.scheduler.after(kStoreTimeout, [answered, lost] { answered(lost); });
            const bool is_busy = world_.random.permille(world_.store.busy);
            PublishEnd end;
            if (!is_busy) {
                if (sent->empty()) world_.store.mark_region(place_.region);
                if (is_read) *found = world_.store.read(*sent);
                if (!is_read && !sent->empty()) *found = world_.store.publish(place_.region, *sent);
                end.regions = world_.store.count_regions();
            }
            world_.scheduler.after(there, [this, answered, lost, is_busy, end] {
                // Executed, but the answer is lost.
                if (is_cut_from_store || world_.store.is_down) return answered(lost);
                if (!is_busy) return answered(end);
                answered(StoreFailure{StoreFailure::Kind::kBusy, "deadlock"});
            });
        });
}

// A call that finds its connection broken opens a new one.
void Node::notice_failover() {
    if (std::exchange(failovers_seen_, world_.store.failovers) == world_.store.failovers) return;
    ++store_connection_;
    audit_->lost_store();
}

void Node::import_when_due() {
    const Moment at =
        std::max(World::since_start(global_sync_->importer().wake_at()), world_.scheduler.now());
    if (at >= import_alarm_) return;
    import_alarm_ = at;
    world_.scheduler.at(at, [this, at] {
        process_.run(world_.scheduler, [this, at] {
            if (import_alarm_ != at) return;
            import_alarm_ = Moment::max();
            import();
        });
    });
}

void Node::import() {
    const auto query = global_sync_->next_import(world_.steady(), wall());
    if (!query) {
        had_import_failure_ = true;
        return import_when_due();
    }
    imports_.push_back(world_.scheduler.now());
    const auto failed = [this] {
        process_.run(world_.scheduler, [this] {
            had_import_failure_ = true;
            world_.note(TraceKind::kImportFailed, place_.serial);
            global_sync_->importer().answered(
                StoreFailure{StoreFailure::Kind::kLost, "the store does not answer"},
                world_.steady());
            import_when_due();
        });
    };
    const bool is_unavailable = is_cut_from_store || world_.store.is_down;
    if (is_unavailable)
        return world_.scheduler.after(is_cut_from_store ? kStoreTimeout : store_delay(), failed);
    const Moment there = store_delay();
    world_.scheduler.after(there, [this, query, failed, there] {
        if (is_cut_from_store || world_.store.is_down)
            return world_.scheduler.after(kStoreTimeout, failed);
        const auto import = std::make_shared<StoreServer::Import>(world_.store.import(*query));
        world_.scheduler.after(there, [this, import, failed] {
            process_.run(world_.scheduler, [this, import, failed] {
                const bool breaks = is_cut_from_store || world_.store.is_down;
                // A broken connection may have delivered a part.
                const std::size_t rows = import->rows.size() / (breaks ? 2 : 1);
                for (std::size_t i = 0; i < rows; ++i) {
                    global_sync_->importer().merge(import->rows[i]);
                    audit_->imported(import->rows[i], wall());
                }
                if (breaks) return failed();
                world_.note(TraceKind::kImported, place_.serial, rows);
                global_sync_->importer().answered(import->end, world_.steady());
                import_when_due();
                check_ticks();
            });
        });
    });
}

void Node::merge(const RegionRow& row, ComponentSource source) {
    global_sync_->merge(row, {.source = source, .wall = wall()});
    audit_->imported(row, wall());
}

// Fails if all intervals are equal: without jitter, nodes call the store at the same time.
void Node::check_ticks() {
    constexpr std::size_t kEnough = 5;
    if (imports_.size() < kEnough || had_import_failure_) return;
    const Moment first = imports_[1] - imports_[0];
    for (std::size_t i = 2; i < imports_.size(); ++i)
        if (imports_[i] - imports_[i - 1] != first) return imports_.clear();
    world_.failure.report("node-" + std::to_string(place_.serial) + ": its imports have no jitter");
}

}  // namespace sluice::sim
