#include "tables/split_list_map.h"

#include <cds/container/michael_list_hp.h>
#include <cds/container/split_list_map.h>
#include <cds/gc/hp.h>
#include <cds/init.h>

namespace sluice::bench {
namespace {

struct KeyLess {
    bool operator()(const Key& a, const Key& b) const { return a.bytes() < b.bytes(); }
};

struct Traits : cds::container::split_list::traits {
    using ordered_list = cds::container::michael_list_tag;
    using hash = KeyHash;
    struct ordered_list_traits : cds::container::michael_list::traits {
        using less = KeyLess;
    };
};

// The counter is a plain number, since libcds copies it into place.
using CdsMap = cds::container::SplitListMap<cds::gc::HP, Key, std::uint64_t, Traits>;

// libcds wants its collector alive for as long as any thread is attached.
struct Library {
    Library() { cds::Initialize(); }
    ~Library() { cds::Terminate(); }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
};

struct Collector {
    Library library;
    cds::gc::HP hazard_pointers{CdsMap::c_nHazardPtrCount};
};

void start_collector() {
    static const Collector collector;
}

}  // namespace

struct SplitListMap::Map {
    CdsMap counters;
};

SplitListMap::Thread::Thread() {
    start_collector();
    cds::threading::Manager::attachThread();
}

SplitListMap::Thread::~Thread() {
    cds::threading::Manager::detachThread();
}

SplitListMap::SplitListMap(std::size_t max_keys) {
    start_collector();
    constexpr std::size_t kLoadFactor = 1;
    map_.reset(new Map{CdsMap(max_keys, kLoadFactor)});
}

SplitListMap::~SplitListMap() = default;

void SplitListMap::count(const Key& key) {
    const auto raise = [](CdsMap::value_type& found) { add_one(std::atomic_ref(found.second)); };
    if (map_->counters.find(key, raise)) return;
    map_->counters.insert(key);
    map_->counters.find(key, raise);
}

}  // namespace sluice::bench
