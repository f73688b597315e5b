#include "regional/origin_cell.h"

#include <array>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace sluice {
namespace {

using Owner = OriginCell::Owner;

CellComponent call(Count own, Count peers = 0) {
    return {.cell = {}, .own = own, .peers = peers, .lifetime = Duration{1}};
}

void expect(const CellTotals& totals, Count total, Count own, Count known = 0) {
    EXPECT_EQ(totals.total, total);
    EXPECT_EQ(totals.own, own);
    EXPECT_EQ(totals.known, known);
}

constexpr Owner kA{.node = 1, .incarnation = 0};
constexpr Owner kB{.node = 2, .incarnation = 0};

TEST(OriginCell, ComponentsAreMergedByMax) {
    OriginCell cell;
    expect(cell.lift(kA, call(5)), 5, 5);
    expect(cell.lift(kB, call(3)), 8, 3);
    expect(cell.lift(kA, call(4)), 8, 5);
    expect(cell.lift(kA, call(7, 3)), 10, 7);
    expect(cell.read(kB), 10, 3);
}

TEST(OriginCell, ANewIncarnationSupersedesTheEarlierOne) {
    OriginCell cell;
    cell.lift(kB, call(100));
    Count spent = 0;
    for (Incarnation incarnation = 0; incarnation < 50; ++incarnation) {
        spent += incarnation + 1;
        expect(cell.lift({1, incarnation}, call(incarnation + 1)), 100 + spent, incarnation + 1);
        EXPECT_LE(cell.components().size(), 3U);
    }
}

TEST(OriginCell, ALateCallOfASupersededIncarnationChangesNothing) {
    OriginCell cell;
    for (const Incarnation incarnation : {7U, 8U, 9U})
        cell.lift({1, incarnation}, call(5));
    for (const Incarnation incarnation : {7U, 8U}) {
        EXPECT_TRUE(cell.is_superseded({1, incarnation}));
        expect(cell.lift({1, incarnation}, call(5)), 15, 0);
        expect(cell.lift({1, incarnation}, call(6, 100)), 15, 0);
    }
    expect(cell.lift({1, 9}, call(6)), 16, 6);
}

TEST(OriginCell, NumbersOfIncarnationsMayWrap) {
    OriginCell cell;
    cell.lift({1, 0xFFFFFFFF}, call(5));
    expect(cell.lift({1, 3}, call(2)), 7, 2);
    EXPECT_TRUE(cell.is_superseded({1, 0xFFFFFFFF}));
    EXPECT_FALSE(cell.is_superseded({1, 3}));
}

// Three nodes spent 6, 5 and, before it stopped, 10.
TEST(OriginCell, TheFirstCallAfterALossRestoresWhatItsNodeKnows) {
    OriginCell cell;
    expect(cell.lift(kA, call(6, 15)), 6, 6, 21);
    expect(cell.lift(kB, call(5, 16)), 11, 5, 21);
    expect(cell.lift(kB, call(7, 16)), 13, 7, 23);
    EXPECT_EQ(cell.spent(), 23);
}

TEST(OriginCell, ANodeThatOnlyReadRestoresWhatItKnows) {
    OriginCell cell;
    expect(cell.lift(kA, call(0, 10)), 0, 0, 10);
    expect(cell.lift(kB, call(2, 10)), 2, 2, 12);
}

TEST(OriginCell, WhatIsKnownEndsWhenTheComponentsAreBack) {
    OriginCell cell;
    expect(cell.lift(kA, call(6, 5)), 6, 6, 11);
    expect(cell.lift(kB, call(5, 6)), 11, 5);
    expect(cell.lift(kB, call(6, 6)), 12, 6);
}

// The origin had executed a call of A for 9, which B had read, and A did not know that.
TEST(OriginCell, AfterALossAnUnacknowledgedCallIsNotCountedTwice) {
    OriginCell cell;
    expect(cell.lift(kB, call(5, 9)), 5, 5, 14);
    expect(cell.lift(kA, call(9)), 14, 9);
}

// The origin had granted 4 that A does not know of, so that they are not spent.
TEST(OriginCell, AfterALossCreditIsNotKnownToBeSpent) {
    OriginCell cell;
    cell.lift(kA, call(9));
    expect(cell.lift(kA, call(5, 10)), 9, 9, 15);
}

// Nodes spend and call at random; calls arrive late, repeatedly, and after the origin has lost its
// data or gone back to an older state.
TEST(OriginCell, NeverHoldsMoreThanWasSpentAndRestoresWhatNodesKnow) {
    struct Node {
        Owner owner;
        Count spent = 0;
        Count peers = 0;
    };
    struct Call {
        Owner owner;
        CellComponent component;
    };
    for (unsigned seed = 0; seed < 2'000; ++seed) {
        std::mt19937 random(seed);
        const auto below = [&](unsigned n) { return random() % n; };
        std::array<Node, 3> nodes{{{.owner = {1, 0}}, {.owner = {2, 0}}, {.owner = {3, 0}}}};
        std::vector<Call> sent;
        OriginCell cell;
        OriginCell replica;
        Count spent = 0;
        const auto send = [&](Node& node) {
            const Call one{node.owner, call(node.spent, node.peers)};
            sent.push_back(one);
            const CellTotals totals = cell.lift(one.owner, one.component);
            if (below(3) == 0) return;  // the answer is lost
            node.peers = std::max(node.peers, totals.total - totals.own);
            if (totals.known > node.spent)
                node.peers = std::max(node.peers, totals.known - node.spent);
        };
        for (int step = 0; step < 60; ++step) {
            Node& node = nodes[below(3)];
            switch (below(7)) {
                case 0:
                case 1: {
                    const Count cost = below(4);
                    node.spent += cost;
                    spent += cost;
                    break;
                }
                case 2:
                case 3:
                    send(node);
                    break;
                case 4:
                    if (!sent.empty()) {
                        const Call& late = sent[random() % sent.size()];
                        cell.lift(late.owner, late.component);
                    }
                    break;
                case 5:
                    replica = cell;
                    break;
                default:
                    if (below(4) == 0) cell = below(2) == 0 ? OriginCell{} : replica;
            }
            ASSERT_LE(cell.spent(), spent) << "seed " << seed;
        }
        for (Node& node : nodes)
            send(node);
        ASSERT_EQ(cell.spent(), spent) << "seed " << seed;
    }
}

// A node that has stopped does not come back: what it spent counts as long as a node knows of it.
TEST(OriginCell, ThePartOfAStoppedNodeStaysKnown) {
    OriginCell cell;
    cell.lift(kA, call(6, 10));
    for (Count spent = 7; spent < 12; ++spent)
        EXPECT_EQ(cell.lift(kA, call(spent, 10)).known, spent + 10);
}

}  // namespace
}  // namespace sluice
