// A node's publish and import calls to the store.
#include <algorithm>
#include <utility>

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
    const auto rows = global_sync_->publisher().next(world_.steady(), wall());
    if (!rows) return publish_when_due();
    is_publishing_ = true;
    notice_failover();
    for (const RegionCount& row : *rows)
        audit_->publishing(row.cell, row.count, world_.true_ms());
    const auto sent = std::make_shared<std::vector<RegionCount>>(rows->begin(), rows->end());
    const auto answered = [this, sent](std::optional<StoreFailure> failure) {
        process_.run(world_.scheduler, [this, sent, failure] {
            is_publishing_ = false;
            world_.note(failure ? TraceKind::kPublishFailed : TraceKind::kPublished,
                        place_.serial,
                        sent->size());
            if (!failure)
                for (const RegionCount& row : *sent)
                    audit_->published(row.cell, row.count, world_.true_ms());
            global_sync_->publisher().answered(failure, store_connection_, world_.steady());
            // The next call is made on a new connection.
            if (failure && failure->kind == StoreFailure::Kind::kLost) {
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
    world_.scheduler.after(there, [this, sent, answered, lost, there, seen = failovers_seen_] {
        if (world_.store.failovers != seen) return answered(lost);
        if (is_cut_from_store || world_.store.is_down)
            return world_.scheduler.after(kStoreTimeout, [answered, lost] { answered(lost); });
        const bool is_busy = world_.random.permille(world_.store.busy);
        if (!is_busy) world_.store.publish(place_.region, *sent);
        world_.scheduler.after(there, [this, answered, lost, is_busy] {
            // Executed, but the answer is lost.
            if (is_cut_from_store || world_.store.is_down) return answered(lost);
            if (!is_busy) return answered(std::nullopt);
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
    const auto query = global_sync_->importer().next(world_.steady(), wall());
    if (!query) {
        had_import_trouble_ = true;
        return import_when_due();
    }
    imports_.push_back(world_.scheduler.now());
    const auto failed = [this] {
        process_.run(world_.scheduler, [this] {
            had_import_trouble_ = true;
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
        const auto import =
            std::make_shared<StoreServer::Import>(world_.store.import(place_.region, *query));
        world_.scheduler.after(there, [this, import, failed] {
            process_.run(world_.scheduler, [this, import, failed] {
                const bool breaks = is_cut_from_store || world_.store.is_down;
                // A broken connection may have delivered a part.
                const std::size_t cells = import->cells.size() / (breaks ? 2 : 1);
                for (std::size_t i = 0; i < cells; ++i)
                    merge(import->cells[i]);
                if (breaks) return failed();
                world_.note(TraceKind::kImported, place_.serial, cells);
                global_sync_->importer().answered(import->end, world_.steady());
                import_when_due();
                check_ticks();
            });
        });
    });
}

void Node::merge(const ImportedCell& cell) {
    global_sync_->importer().merge(cell);
    audit_->imported(cell, wall());
}

// Fails if all intervals are equal: without jitter, nodes call the store at the same time.
void Node::check_ticks() {
    constexpr std::size_t kEnough = 5;
    if (imports_.size() < kEnough || had_import_trouble_) return;
    const Moment first = imports_[1] - imports_[0];
    for (std::size_t i = 2; i < imports_.size(); ++i)
        if (imports_[i] - imports_[i - 1] != first) return imports_.clear();
    world_.failure.report("node-" + std::to_string(place_.serial) + ": its imports have no jitter");
}

}  // namespace sluice::sim
