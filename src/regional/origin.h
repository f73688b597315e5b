// The port to the origin, the store that the nodes of a region share, and the rule by which it
// decides requests. An origin holds, for each cell, one grow-only component per owner.
#ifndef SLUICE_REGIONAL_ORIGIN_H_
#define SLUICE_REGIONAL_ORIGIN_H_

#include <sluice/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "window/cell.h"
#include "window/sliding.h"

namespace sluice {

// Distinguishes the components of this node's successive entries for one key. A key that was
// evicted and came back has a new incarnation, and so a new component. Numbers grow modulo 2^32.
using Incarnation = std::uint32_t;

// Whether `a` belongs to a later entry than `b`.
constexpr bool is_newer(Incarnation a, Incarnation b) {
    return a != b && a - b < Incarnation{1} << 31U;
}

// This node's components of the two cells of a key that decisions at `current.sequence` use.
struct KeyComponents {
    CellName current;  // the previous cell has the same name and one sequence less
    Incarnation incarnation = 0;
    std::array<Count, 2> own{};    // current, previous; 0 creates nothing
    std::array<Count, 2> peers{};  // the counts of the peers as last read, which may be lost since
    Duration lifetime{};           // how long the current cell still matters, from now on; positive
    // Without it, an origin may leave the previous cell alone, and return nothing of it.
    bool has_previous = true;
};

// This node's component of one cell, and what it knows of the cell; see KeyComponents.
struct CellComponent {
    CellName cell;
    Count own;
    Count peers;
    Duration lifetime;  // not positive if the cell no longer matters
};

// Current, previous. The previous cell matters for one duration less.
inline std::array<CellComponent, 2> cells_of(const KeyComponents& key) {
    CellName previous = key.current;
    --previous.sequence;
    const Duration previous_lifetime = key.lifetime - key.current.duration;
    return {CellComponent{.cell = key.current,
                          .own = key.own[0],
                          .peers = key.peers[0],
                          .lifetime = key.lifetime},
            CellComponent{.cell = std::move(previous),
                          .own = key.own[1],
                          .peers = key.peers[1],
                          .lifetime = previous_lifetime}};
}

// The counts of a cell at the origin. An absent cell or component counts as 0.
struct CellTotals {
    Count total = 0;  // the sum of the components of all owners, this one included
    Count own = 0;    // the component of this entry
    // What the region has spent at least, where that is more than the total, since the origin has
    // lost components that nodes had read. 0 if it is not.
    Count known = 0;
    Count spent() const { return std::max(total, known); }
};
using KeyTotals = std::array<CellTotals, 2>;  // current, previous

// The answer for one key of a call. It has no value if the origin did not answer: the call may have
// taken effect or not. `key_error` is not empty if the origin answered that it can't serve this
// key, for a reason that concerns no other key (its cell holds something else than counts). It
// names the cell by a digest, for the log.
template <class Value>
struct OriginAnswer : std::optional<Value> {
    using std::optional<Value>::optional;
    std::string key_error = {};
};
using KeyAnswer = OriginAnswer<KeyTotals>;

// One request that the origin decides.
struct SpendRequest {
    Duration elapsed;  // since the start of the current cell
    Ask ask;
};

// The queued requests of one key, in order.
struct KeySpend {
    KeyComponents components;
    // Counts beside the region's components (other regions, unfinished batches of this node),
    // current and previous.
    std::array<Count, 2> extra{};
    std::vector<SpendRequest> requests;
};

// The decisions of the origin. A grant has been added to this node's component.
struct KeyGrants {
    KeyTotals totals;           // afterwards
    std::vector<bool> granted;  // by request
};
using SpendAnswer = OriginAnswer<KeyGrants>;

// A node announces itself with every heartbeat.
struct Heartbeat {
    // The nodes that have sent a heartbeat within kNodeLifetime, this one included.
    std::uint32_t nodes = 1;
    // This node was not among them before: its first heartbeat, or the first after a long pause.
    bool has_joined = false;
    // How far the origin's clock is ahead of this node's; 0 where they are the same.
    Duration clock_offset{};
};
using HeartbeatAnswer = std::optional<Heartbeat>;
inline constexpr Duration kNodeLifetime{5'000};

// A cell with all its components, for inspection.
struct CellListing {
    struct Component {
        std::string owner;
        Count count;
    };
    Count total = 0;
    std::vector<Component> components;
    Duration lifetime{0};  // until the origin drops the cell; 0 if it holds nothing
};

// Notifications of an origin. It is unavailable from the start until the first `available`.
struct OriginEvents {
    // The connection works. `is_intact` is false if the origin may have lost data since the last
    // time.
    std::function<void(bool is_intact)> available;
    // The connection is lost. `why` is a message for the log, without secrets. Reported again if
    // the reason changes.
    std::function<void(const std::string& why)> unavailable;
    // The connection works, but the origin has lost data.
    std::function<void()> data_lost;
    // The origin refused a write for a reason that concerns all keys (no memory, read-only, no
    // permission). `why` quotes it, for the log, without secrets. The refused call is answered
    // without a value.
    std::function<void(const std::string& why)> write_refused;
};

// One node's connection to the origin. Every number is a component with one owner, merged by max:
// a call may be lost, repeated, delayed or reordered, and the counts still come out right. The
// origin keeps each component until its cell expires, or remembers that it is superseded: a call
// that arrives at any later time, even after its node has ended, finds it.
//
// Calls return at once. Each is answered exactly once, in the order of its keys, within the
// origin's timeout, and at once while it is unavailable. An answer may come before the call
// returns.
//
// Owned by one thread, on which answers and events arrive. Destroying it answers nothing.
class Origin {
  public:
    using Synced = std::function<void(std::vector<KeyAnswer>)>;
    using Spent = std::function<void(std::vector<SpendAnswer>)>;
    using HeartbeatDone = std::function<void(HeartbeatAnswer)>;
    using Listed = std::function<void(std::vector<std::optional<CellListing>>)>;

    virtual ~Origin() = default;

    // Once, before any call. Events may come before it returns.
    virtual void start(OriginEvents events) = 0;

    // Lifts this node's components to `own` where they are lower, restores counts that the origin
    // has lost, and returns the totals afterwards; see OriginCell::lift(). A component of 0 is not
    // created.
    virtual void sync(std::vector<KeyComponents> keys, Synced synced) = 0;

    // For each key: lifts this node's components as sync() does, then decides its requests in order
    // and adds the costs that fit to the current component (see decide_at_origin()).
    // Idempotent: a component that is already above `own` is what an earlier call granted whose
    // answer was lost, and is granted again without being added again. A call that arrives after
    // its callers have ceased to wait has no effect, and no answer: counts that it was denied by
    // may have expired.
    virtual void spend(std::vector<KeySpend> keys, Spent spent) = 0;

    // Announces this node, and writes as sync() does, so that an origin that refuses writes is
    // noticed without traffic.
    virtual void heartbeat(HeartbeatDone done) = 0;

    virtual void list(std::vector<CellName> cells, Listed listed) = 0;

    // Replaces this node's note and reads those of all nodes, each until kNodeLifetime after it was
    // left. Nothing is read where `read` is empty. An origin of a single process keeps none: no
    // other node would read it.
    using NotesRead = std::function<void(std::optional<std::vector<NodeNote>>)>;
    virtual void leave_note(std::string /*note*/, NotesRead read) {
        if (read) read(std::vector<NodeNote>{});
    }

    // Whether keys are spread over several servers, each of which may be slow or unavailable.
    virtual bool is_sharded() const { return false; }

    // The owner, in listings, of this node's components, without the incarnation.
    virtual std::string node() const = 0;
};

// The owner of a component, in listings.
inline std::string owner_name(const std::string& node, Incarnation incarnation) {
    return incarnation == 0 ? node : node + "." + std::to_string(incarnation);
}

// Decides the requests of `spend` in order, at an origin that holds `held` after this node's
// components were lifted. A request passes if its cost fits the sliding window on top of all costs
// that were spent and granted before it. Returns the totals with the granted costs added to the
// current cell; the caller stores them.
//
// A component above what this node has spent is credit: an earlier call granted it and its answer
// was lost. Requests use it up before the component grows. Credit in the previous cell counts as
// spent: the answer to a call made at the end of that window may still be on its way.
//
// The spend script in regional/redis implements the same rule.
KeyGrants decide_at_origin(const KeySpend& spend, const KeyTotals& held);

}  // namespace sluice

#endif  // SLUICE_REGIONAL_ORIGIN_H_
