#include "global/fleet.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <utility>
#include <variant>

#include "counter/epoch.h"
#include "decide/batch.h"
#include "decide/single.h"
#include "global/hashed_name_cells.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Each with its own limit, and two durations, so that some windows end while the fleet runs.
struct Subject {
    std::string identifier;
    std::int64_t limit;
    Duration duration;
};
const std::array<Subject, 6> kSubjects = {{{"alice", 40, seconds{60}},
                                           {"Alice", 40, seconds{60}},
                                           {"bob", 400, seconds{120}},
                                           {"carol", 5, seconds{60}},
                                           {std::string(300, 'd'), 40, seconds{60}},
                                           {"erin", 1'000'000, seconds{120}}}};

CellName cell_of(const Request& request, UnixTime now) {
    return {.workspace = std::string(request.workspace),
            .name_space = std::string(request.name_space),
            .identifier = std::string(request.identifier),
            .duration = request.duration,
            .sequence = instant_at(now, request.duration).sequence};
}

std::string shown(const CellName& cell) {
    return cell.identifier.substr(0, 8) + "@" + std::to_string(cell.sequence);
}

}  // namespace

struct Fleet::Regional {
    std::string name;
    std::shared_ptr<MemoryRegion> memory;
};

class Fleet::Node {
    Fleet& fleet_;

  public:
    Node(Fleet& fleet, std::size_t region, std::size_t place)
        : fleet_(fleet),
          region_index(region),
          number(place),
          store(fleet.options_.join(fleet.regions_[region].name)),
          table(*Table::create({.max_keys = 1'000, .sharing = Sharing::kShared, .seed = place})),
          global_sync(*table,
                      // Pages so small that a scan takes many, and meets all that can go wrong.
                      {.seed = fleet.random_(), .import_page_rows = 1 + fleet.below(4)},
                      fleet.now_),
          origin_(fleet.regions_[region].memory->join()),
          region_(*table,
                  *origin_,
                  {.clock = [&fleet] { return fleet.now_; },
                   .seed = fleet.random_(),
                   .again = [this] { wants_turn_ = true; },
                   .counted = [this](Entry& entry) { global_sync.offer(entry); },
                   .changed = [](bool, const std::string&) {}}) {
        region_.start();
    }

    // Hears what the origin knows of all keys, as a request would.
    void refresh(UnixTime now) {
        for (const Subject& subject : kSubjects) {
            const Request request{
                .name_space = "n", .identifier = subject.identifier, .duration = subject.duration};
            region_.sync({&request, 1}, now, [](bool) {});
        }
        settle();
    }

    // Until everything is flushed, which does not wait until it is due. Pauses take time.
    void settle() {
        for (int i = 0; i < 100 && (std::exchange(wants_turn_, false) || !region_.is_settled());
             ++i) {
            table->changed().request_flush();
            wants_turn_ = false;  // request_flush() asks for the step that follows
            fleet_.now_ += milliseconds{1};
            region_.step();
        }
    }

    const std::size_t region_index;
    const std::size_t number;
    const std::unique_ptr<GlobalStore> store;
    const std::unique_ptr<Table> table;
    GlobalSync global_sync;
    std::map<CellName, Count> seen;  // the regional count of each cell, which only grows

  private:
    bool wants_turn_ = true;
    const std::unique_ptr<Origin> origin_;
    Region region_;
};

Fleet::Fleet(std::uint64_t seed, FleetOptions options)
    : random_(seed),
      options_(std::move(options)),
      time_(seconds{1'700'000'040}),
      witness_(options_.join("witness")) {
    for (std::size_t i = 0; i < options_.regions; ++i)
        regions_.push_back(
            {"region-" + std::to_string(i), MemoryRegion::create([this] { return now_; })});
    for (std::size_t i = 0; i < options_.regions * options_.nodes_per_region; ++i)
        nodes_.push_back(std::make_unique<Node>(*this, i % options_.regions, i));
}

Fleet::~Fleet() = default;

Fleet::Node& Fleet::any_node() {
    return *nodes_[below(nodes_.size())];
}

void Fleet::run(milliseconds time) {
    const UnixTime end = time_ + time;
    while (time_ < end && fault_.empty())
        step();
}

void Fleet::step() {
    Node& node = any_node();
    switch (below(40)) {
        case 0:
            return restart(node);
        case 1:
            return repeat_publish();
        case 2:
            return repeat_import();
        case 3:
        case 4:
            return spend_batch(node);
        case 5:
        case 6:
        case 7:
        case 8:
        case 9:
        case 10:
            return publish(node);
        case 11:
        case 12:
        case 13:
        case 14:
        case 15:
        case 16:
            return import(node);
        case 17:
        case 18:
        case 19:
            return pass(milliseconds{below(1'500)});
        default:
            return spend(node);
    }
}

void Fleet::spend(Node& node) {
    const Subject& subject = kSubjects[below(kSubjects.size())];
    const Request request{.name_space = "n",
                          .identifier = subject.identifier,
                          .limit = subject.limit,
                          .duration = subject.duration,
                          .cost = static_cast<std::int64_t>(below(4))};
    Decision decision{};
    decide_from_local(*node.table, request, time_, decision);
    ++decisions_;
    if (decision.passed) admitted(node, request);
    node.settle();
    check(node);
}

void Fleet::spend_batch(Node& node) {
    std::vector<Request> requests;
    for (std::size_t i = 0; i < 1 + below(4); ++i) {
        const Subject& subject = kSubjects[below(kSubjects.size())];
        requests.push_back({.name_space = "n",
                            .identifier = subject.identifier,
                            .limit = subject.limit,
                            .duration = subject.duration,
                            .cost = static_cast<std::int64_t>(1 + below(3))});
    }
    const auto decision = decide_batch(*node.table, requests, time_, SharingRule::kSkip);
    ++decisions_;
    if (decision->passed) {
        for (const Request& request : requests)
            admitted(node, request);
    }
    node.settle();
    check(node);
}

void Fleet::admitted(Node& node, const Request& request) {
    truth_[cell_of(request, time_)][regions_[node.region_index].name] +=
        static_cast<Count>(request.cost);
}

void Fleet::publish(Node& node) {
    Publisher& publisher = node.global_sync.publisher();
    const auto rows = publisher.next(now_, time_);
    if (!rows) return;
    const auto failure = send(node, *rows);
    publisher.answered(failure, node.store->connections(), now_);
    check_rows();
}

// A call is lost on its way, or arrives and its answer is lost, or meets others.
std::optional<StoreFailure> Fleet::send(Node& node, std::span<const RegionCount> rows) {
    const std::size_t fate = is_calm_ ? 9 : below(10);
    if (fate == 0) return StoreFailure{StoreFailure::Kind::kLost, "lost"};
    if (fate == 1) return StoreFailure{StoreFailure::Kind::kBusy, "busy"};
    if (fate == 2) return StoreFailure{StoreFailure::Kind::kRefused, "refused"};
    const auto failure = node.store->publish(rows);
    sent_.push_back({node.region_index, {rows.begin(), rows.end()}});
    if (sent_.size() > 20) sent_.pop_front();
    if (fate == 3) return StoreFailure{StoreFailure::Kind::kLost, "its answer was lost"};
    return failure;
}

void Fleet::import(Node& node) {
    Importer& importer = node.global_sync.importer();
    const auto query = importer.next(now_, time_);
    if (!query) return;
    const std::size_t fate = is_calm_ ? 9 : below(6);
    std::size_t left = fate == 1 ? below(5) : SIZE_MAX;
    auto end = node.store->import(*query, [&](const ImportedCell& cell) {
        if (left == 0) return;  // the connection broke
        --left;
        importer.merge(cell);
        imported_.emplace_back(node.number, cell);
        if (imported_.size() > 50) imported_.pop_front();
    });
    if (fate <= 1) end = StoreFailure{StoreFailure::Kind::kLost, "lost"};
    importer.answered(end, now_);
    check(node);
}

// A chunk that was sent long ago arrives once more.
void Fleet::repeat_publish() {
    if (sent_.empty()) return;
    const Echo& echo = sent_[below(sent_.size())];
    const auto store = options_.join(regions_[echo.region].name);
    static_cast<void>(store->publish(echo.rows));
    check_rows();
}

// A row that was read long ago is delivered once more.
void Fleet::repeat_import() {
    if (imported_.empty()) return;
    const auto& [number, cell] = imported_[below(imported_.size())];
    Node& node = *nodes_[number];
    node.global_sync.importer().merge(cell);
    check(node);
}

// The node forgets everything. Its origin has heard all that it spent.
void Fleet::restart(Node& node) {
    const std::size_t number = node.number;
    const std::size_t region = node.region_index;
    nodes_[number].reset();
    nodes_[number] = std::make_unique<Node>(*this, region, number);
    std::erase_if(imported_, [&](const auto& imported) { return imported.first == number; });
}

void Fleet::pass(milliseconds time) {
    now_ += time;
    time_ += time;
}

Count Fleet::sum_of_peers(const Components& components,
                          const CellName& cell,
                          const std::string& region) const {
    Count sum = 0;
    const auto found = components.find(cell);
    if (found == components.end()) return 0;
    for (const auto& [name, count] : found->second)
        if (name != region) sum += count;
    return sum;
}

// Components grow only, each region's is its own, and holds nothing that was not admitted in it.
void Fleet::check_rows() {
    std::vector<CellName> cells;
    std::vector<CellName> stored;
    for (const auto& [cell, regions] : truth_) {
        cells.push_back(cell);
        stored.push_back(stored_name(cell));
    }
    const auto listed = witness_->list(stored);
    const auto* const listings = std::get_if<std::vector<GlobalListing>>(&listed);
    if (listings == nullptr) return;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        for (const auto& [region, count, age] : (*listings)[i].components) {
            if (count > truth_[cells[i]][region])
                blame(region + " published more than it spent of " + shown(cells[i]));
            Count& before = rows_[cells[i]][region];
            if (count < before) blame("a component of " + shown(cells[i]) + " shrank");
            before = count;
        }
    }
}

void Fleet::check(Node& node) {
    const std::string& region = regions_[node.region_index].name;
    const EpochPin pin;
    for (const auto& [cell, regions] : truth_) {
        const Entry* const entry = node.table->find(node.table->key({.workspace = cell.workspace,
                                                                     .name_space = cell.name_space,
                                                                     .identifier = cell.identifier,
                                                                     .duration = cell.duration}));
        if (entry == nullptr) continue;
        const Count own =
            entry->admitted(cell.sequence).of(cell.sequence) + entry->peers(cell.sequence);
        const auto mine = regions.find(region);
        if (own > (mine == regions.end() ? 0 : mine->second))
            blame("a node of " + region + " counts more than its region spent of " + shown(cell));
        if (entry->global(cell.sequence) > sum_of_peers(truth_, cell, region))
            blame("a node of " + region + " imported more than others spent of " + shown(cell));
        const bool is_held =
            cell.sequence >= entry->high() - 2 && cell.sequence <= entry->high() + 1;
        Count& before = node.seen[cell];
        if (is_held && own < before) blame("the count of " + shown(cell) + " shrank at a node");
        before = own;
    }
}

void Fleet::settle() {
    is_calm_ = true;
    // What a node spent and did not publish before it died, its neighbours hear from the origin.
    for (const auto& node : nodes_)
        node->refresh(time_);
    for (int i = 0; i < 80 && fault_.empty(); ++i) {
        pass(milliseconds{1'000});
        for (const auto& node : nodes_) {
            node->settle();
            // The breaker may have been left open: nobody publishes faster than it allows.
            publish(*node);
            for (int page = 0; page < 100; ++page)
                import(*node);
        }
    }
}

std::string Fleet::difference() const {
    for (const auto& [cell, published] : rows_) {
        if (is_dead(cell.sequence, cell.duration, time_) || published.empty()) continue;
        for (const auto& node : nodes_) {
            const std::string& region = regions_[node->region_index].name;
            const EpochPin pin;
            const Entry* const entry =
                node->table->find(node->table->key({.workspace = cell.workspace,
                                                    .name_space = cell.name_space,
                                                    .identifier = cell.identifier,
                                                    .duration = cell.duration}));
            // Counts of a key that can't be named by its row wait for the key's first request.
            if (entry == nullptr && stored_name(cell) != cell) continue;
            const Count knows = entry == nullptr ? 0 : entry->global(cell.sequence);
            const Count wanted = sum_of_peers(truth_, cell, region);
            if (knows != wanted) {
                return "a node of " + region + " knows " + std::to_string(knows) + " of " +
                       std::to_string(wanted) + " that others spent of " + shown(cell);
            }
        }
    }
    return {};
}

}  // namespace sluice
