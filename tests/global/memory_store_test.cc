#include "global/memory_store.h"

#include "support/store_contract.h"

namespace sluice::global_test {
namespace {

using namespace std::chrono_literals;

class MemoryKit final : public StoreKit {
  public:
    std::unique_ptr<GlobalStore> open(const std::string& region) override {
        return world_->join(region);
    }
    UnixTime now() override { return now_; }
    void pass(std::chrono::milliseconds time) override { now_ += time; }

  private:
    UnixTime now_{1'000'000s};
    const std::shared_ptr<MemoryWorld> world_ = MemoryWorld::create([this] { return now_; });
};

std::unique_ptr<StoreKit> make_memory_kit() {
    return std::make_unique<MemoryKit>();
}

INSTANTIATE_TEST_SUITE_P(Memory, StoreContract, testing::Values(make_memory_kit));

}  // namespace
}  // namespace sluice::global_test
