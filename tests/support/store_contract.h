// The contract of GlobalStore: tests that every implementation passes.
//
// A test program compiles store_contract.cc and says how its stores are made:
//
//     INSTANTIATE_TEST_SUITE_P(Memory, StoreContract, testing::Values(make_memory_kit));
#ifndef SLUICE_TESTS_SUPPORT_STORE_CONTRACT_H_
#define SLUICE_TESTS_SUPPORT_STORE_CONTRACT_H_

#include <sluice/time.h>

#include <chrono>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "global/store.h"

namespace sluice::global_test {

// What regions share, empty at first, and a clock for it.
class StoreKit {
  public:
    virtual ~StoreKit() = default;

    // A connection of this region.
    virtual std::unique_ptr<GlobalStore> open(const std::string& region) = 0;

    // By the store's clock.
    virtual UnixTime now() = 0;
    // So much time passes for all that the store holds, without any waiting; a negative time: its
    // clock is set back.
    virtual void pass(std::chrono::milliseconds time) = 0;
};

using MakeStoreKit = std::unique_ptr<StoreKit> (*)();

class StoreContract : public testing::TestWithParam<MakeStoreKit> {
  protected:
    std::unique_ptr<StoreKit> kit_ = GetParam()();
};

}  // namespace sluice::global_test

#endif  // SLUICE_TESTS_SUPPORT_STORE_CONTRACT_H_
