#include "tables/rcu_table.h"

#include <bit>

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

// At its final size from the start. Growing by itself (CDS_LFHT_AUTO_RESIZE), version 0.13 was not
// reliable on a busy machine: with CDS_LFHT_ACCOUNTING, lookups among a million keys took 40 us and
// more in most runs, as if it had stopped growing, and without it the table took 800 bytes for each
// key.
RcuTable::RcuTable(std::size_t max_keys) {
    const unsigned long buckets = std::bit_ceil(max_keys);
    table_ = _cds_lfht_new(buckets, 1, buckets, 0, nullptr, &urcu_memb_flavor, nullptr);
}

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
