#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "overrides/stores.h"

namespace sluice::overrides {
namespace {

using namespace std::chrono_literals;

Override sample(std::string identifier, std::uint64_t order) {
    return {.workspace = "w",
            .name_space = "n",
            .identifier = std::move(identifier),
            .id = "rlor_" + std::to_string(order),
            .value = {.limit = 1, .duration = 1s},
            .order = order};
}

// A shared store with scripted answers.
class AnsweringStore final : public OverrideStore {
  public:
    struct Answers {
        std::optional<Error> failure;
        std::vector<Override> held;
        Override put;
    };
    explicit AnsweringStore(const Answers& answers) : answers_(answers) {}

    Result<std::uint64_t> version() override { return 1; }
    Result<Contents> load_all() override {
        if (answers_.failure) return *answers_.failure;
        return Contents{answers_.held, 1};
    }
    Result<Stored> put(const Override&, const std::optional<Author>&) override {
        if (answers_.failure) return *answers_.failure;
        return Stored{answers_.put, 2};
    }
    Result<std::vector<Change>> changes(const ChangeQuery&) override {
        return std::vector<Change>{};
    }
    Result<Removed> remove(const OverrideKey&, const std::optional<Author>&) override {
        if (answers_.failure) return *answers_.failure;
        return Removed{true, 2};
    }

  private:
    const Answers& answers_;
};

class CopiedStoreTest : public testing::Test {
  protected:
    void SetUp() override {
        std::string folder = testing::TempDir() + "sluice_copy_XXXXXX";
        folder_ = mkdtemp(folder.data());
        auto copy = SqliteOverrideStore::open({.path = folder_ / "copy.db"}).value();
        copy_ = copy.get();
        store_ = make_copied_store(
            {.shared = std::make_unique<AnsweringStore>(answers_),
             .copy = std::move(copy),
             .on_failure = [this](const Error& error) { failures_.push_back(error.message); }});
    }
    void TearDown() override {
        store_.reset();
        std::filesystem::remove_all(folder_);
    }

    std::vector<Override> copied() { return copy_->load_all().value().overrides; }

    AnsweringStore::Answers answers_;
    std::filesystem::path folder_;
    SqliteOverrideStore* copy_ = nullptr;
    std::unique_ptr<OverrideStore> store_;
    std::vector<std::string> failures_;
};

TEST_F(CopiedStoreTest, CopiesWhatPassesThrough) {
    answers_.held = {sample("a", 1), sample("b", 2)};
    EXPECT_TRUE(store_->load_all());
    EXPECT_EQ(copied(), answers_.held);
    // Another node had removed it and set it again.
    answers_.put = sample("a", 7);
    EXPECT_EQ(store_->put(sample("a", 1), {})->entry, answers_.put);
    EXPECT_EQ(copied(), (std::vector<Override>{sample("b", 2), sample("a", 7)}));
    EXPECT_TRUE(store_->remove(sample("b", 2).key(), {})->found);
    EXPECT_EQ(copied(), (std::vector<Override>{sample("a", 7)}));
    EXPECT_TRUE(failures_.empty());
}

TEST_F(CopiedStoreTest, KeepsTheCopyWhileTheSharedStoreIsUnavailable) {
    answers_.held = {sample("a", 1)};
    EXPECT_TRUE(store_->load_all());
    answers_.failure = Error{kStoreUnavailable, "gone"};
    EXPECT_EQ(store_->load_all().error().message, "gone");
    EXPECT_FALSE(store_->put(sample("b", 2), {}));
    EXPECT_FALSE(store_->remove(sample("a", 1).key(), {}));
    EXPECT_EQ(copied(), answers_.held);
}

TEST_F(CopiedStoreTest, ACopyThatFailsFailsNoCall) {
    answers_.held = {sample("a", 1)};
    EXPECT_TRUE(store_->load_all());
    // An order that another override has can't be written.
    answers_.put = sample("b", 1);
    EXPECT_TRUE(store_->put(sample("b", 2), {}));
    EXPECT_EQ(failures_.size(), 1U);
    EXPECT_TRUE(store_->load_all());
    EXPECT_EQ(copied(), answers_.held);
}

}  // namespace
}  // namespace sluice::overrides
