#include "regional/sqlite/sqlite_origin.h"

#include <optional>
#include <utility>
#include <vector>

#include "regional/sqlite/component_file.h"

namespace sluice {
namespace {

// What the file answered, cell by cell; none for each of `cells` where it failed.
template <class T>
std::vector<std::optional<T>> cell_by_cell(Result<std::vector<T>> result, std::size_t cells) {
    if (!result) return std::vector<std::optional<T>>(cells);
    return {std::move_iterator(result->begin()), std::move_iterator(result->end())};
}

// Owned by one thread, as its port says. Calls end with their callback, so that it may make another
// one.
class SqliteOrigin final : public Origin {
  public:
    explicit SqliteOrigin(std::unique_ptr<ComponentFile> file) : file_(std::move(file)) {}

    void start(OriginEvents events) override {
        events_ = std::move(events);
        if (events_.back) events_.back(true);
    }

    void read(std::vector<CellQuestion> cells, Answered answered) override {
        auto totals = file_->read(cells);
        tell(totals);
        answered(cell_by_cell(std::move(totals), cells.size()));
    }

    void raise(std::vector<CellComponent> components, Answered answered) override {
        auto totals = file_->raise(components);
        is_raise_failing_ = !totals;
        tell(totals);
        answered(cell_by_cell(std::move(totals), components.size()));
    }

    void list(std::vector<CellName> cells, Listed listed) override {
        auto listings = file_->list(cells);
        tell(listings);
        listed(cell_by_cell(std::move(listings), cells.size()));
    }

    std::string node() const override { return file_->node(); }

  private:
    // Tells of a change, if a call with this result makes one.
    template <class T>
    void tell(const Result<T>& result) {
        const std::string why = result ? "" : result.error().message;
        // A file on a full disk can still be read; that does not make it one that works.
        if (why == away_ || (result && is_raise_failing_)) return;
        away_ = why;
        if (result) {
            if (events_.back) events_.back(true);
        } else {
            if (events_.away) events_.away(why);
        }
    }

    const std::unique_ptr<ComponentFile> file_;
    OriginEvents events_;
    std::string away_;  // why it is away; empty while it is not
    bool is_raise_failing_ = false;
};

}  // namespace

Result<std::unique_ptr<Origin>> open_sqlite_origin(SqliteOriginOptions options) {
    auto file = ComponentFile::open(std::move(options));
    if (!file) return std::move(file).error();
    return std::unique_ptr<Origin>(new SqliteOrigin(*std::move(file)));
}

}  // namespace sluice
