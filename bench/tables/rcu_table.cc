#include "tables/rcu_table.h"

#define URCU_INLINE_SMALL_FUNCTIONS
#include <urcu/rculfhash.h>
#include <urcu/urcu-memb.h>

namespace sluice::bench {
namespace {

struct Node {
    cds_lfht_node link;
    std::atomic<std::uint64_t> counter;  // Written by every count; guards nothing but itself.
    Key key;
};

Node* node_of(cds_lfht_node* link) {
    return reinterpret_cast<Node*>(link);
}

int matches(cds_lfht_node* link, const void* key) {
    return node_of(link)->key == *static_cast<const Key*>(key) ? 1 : 0;
}

Node* add(cds_lfht* table, std::uint64_t hash, const Key& key) {
    Node* added = new Node{{}, 0, key};
    cds_lfht_node_init(&added->link);
    Node* winner = node_of(cds_lfht_add_unique(table, hash, matches, &key, &added->link));
    if (winner != added) delete added;
    return winner;
}

}  // namespace

RcuTable::Thread::Thread() {
    urcu_memb_register_thread();
}

RcuTable::Thread::~Thread() {
    urcu_memb_unregister_thread();
}

RcuTable::RcuTable(std::size_t /*max_keys*/) {
    constexpr unsigned long kBuckets = 1'024;
    table_ = _cds_lfht_new(kBuckets,
                           kBuckets,
                           0,
                           CDS_LFHT_AUTO_RESIZE | CDS_LFHT_ACCOUNTING,
                           nullptr,
                           &urcu_memb_flavor,
                           nullptr);
}

// The process ends with the measurement; the nodes are left to it.
RcuTable::~RcuTable() = default;

void RcuTable::count(const Key& key) {
    const std::uint64_t hash = hash_of(key.bytes());
    urcu_memb_read_lock();
    cds_lfht_iter found;
    cds_lfht_lookup(table_, hash, matches, &key, &found);
    cds_lfht_node* link = cds_lfht_iter_get_node(&found);
    add_one((link != nullptr ? node_of(link) : add(table_, hash, key))->counter);
    urcu_memb_read_unlock();
}

}  // namespace sluice::bench
