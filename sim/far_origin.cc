#include "sim/far_origin.h"

#include <algorithm>
#include <utility>

namespace sluice::sim {

World::World(const Options& given, UnixTime began_at)
    : options(given),
      began(began_at),
      random(given.seed),
      truth(given.load, given.regions),
      trace(given.is_traced ? 1'000'000 : 4'000),
      network{.loss = given.faults.loss,
              .duplicate = given.faults.duplicate,
              .delay = given.faults.delay,
              .jitter = given.faults.jitter},
      knowledge(given, truth, began_at),
      store(scheduler, began_at, given.regions) {
    for (std::uint32_t i = 0; i < given.regions; ++i)
        origins.emplace_back(scheduler);
}

FarOrigin::FarOrigin(World& world, Place place, Pulse& pulse, Audit& audit)
    : world_(world), place_(place), pulse_(pulse), audit_(audit) {}

void FarOrigin::start(OriginEvents events) {
    events_ = std::move(events);
    losses_seen_ = server().losses;
    // It connects a moment later, as soon as there is somebody to connect to.
    world_.scheduler.after(2 * world_.message_delay(),
                           [this] { pulse_.run(world_.scheduler, [this] { connect(); }); });
}

void FarOrigin::connect() {
    if (is_connected_ || !pulse_.is_alive) return;
    if (server().is_down || is_cut) {
        const Moment later = std::chrono::milliseconds{world_.random.between(100, 300)};
        return world_.scheduler.after(
            later, [this] { pulse_.run(world_.scheduler, [this] { connect(); }); });
    }
    is_connected_ = true;
    const bool remembers = std::exchange(losses_seen_, server().losses) == server().losses;
    world_.note(Happening::kBack, place_.serial, remembers ? 1 : 0);
    events_.back(remembers);
}

void FarOrigin::disconnect(const std::string& why) {
    if (!is_connected_ || !pulse_.is_alive) return;
    is_connected_ = false;
    world_.note(Happening::kAway, place_.serial);
    for (std::size_t i = 0; i < calls_.size(); ++i)
        end(calls_[i].id, false);
    tidy();
    events_.away(why);
    connect();
}

void FarOrigin::forgot() {
    if (!is_connected_ || !pulse_.is_alive || losses_seen_ == server().losses) return;
    losses_seen_ = server().losses;
    world_.note(Happening::kForgot, place_.serial);
    events_.forgot();
}

void FarOrigin::sever() {
    is_connected_ = false;
    for (Call& call : calls_)
        call.answered = nullptr;
    events_ = {};
}

void FarOrigin::read(std::vector<CellQuestion> cells, Answered answered) {
    world_.note(Happening::kRead, place_.serial, cells.size());
    Call call;
    call.questions = std::move(cells);
    call.answered = std::move(answered);
    send(std::move(call));
}

void FarOrigin::raise(std::vector<CellComponent> components, Answered answered) {
    world_.note(Happening::kRaised, place_.serial, components.size());
    audit_.telling(components);
    Call call;
    call.is_raise = true;
    call.components = std::move(components);
    call.answered = std::move(answered);
    send(std::move(call));
}

void FarOrigin::list(std::vector<CellName> cells, Listed listed) {
    listed(std::vector<std::optional<CellListing>>(cells.size()));
}

std::string FarOrigin::node() const {
    return "node-" + std::to_string(place_.serial);
}

FarOrigin::Call* FarOrigin::find(std::uint64_t id) {
    if (calls_.empty() || id < calls_.front().id) return nullptr;
    const std::uint64_t place = id - calls_.front().id;
    return place < calls_.size() ? &calls_[place] : nullptr;
}

void FarOrigin::send(Call call) {
    if (!is_connected_) return call.answered(std::vector<CellAnswer>(call.size()));
    const std::uint64_t id = ++last_id_;
    call.id = id;
    calls_.push_back(std::move(call));
    carry(id);
    if (world_.random.permille(world_.network.duplicate)) carry(id);
    world_.scheduler.after_timeout([this, id] {
        pulse_.run(world_.scheduler, [this, id] {
            end(id, false);
            tidy();
        });
    });
}

void FarOrigin::carry(std::uint64_t id) {
    if (is_cut || world_.random.permille(world_.network.loss)) return;
    ++find(id)->underway;
    world_.scheduler.after(world_.message_delay(), [this, id] { arrive(id); });
}

void FarOrigin::arrive(std::uint64_t id) {
    if (server().slowness == Moment{0}) return serve(id);
    world_.scheduler.after(server().slowness, [this, id] { serve(id); });
}

void FarOrigin::serve(std::uint64_t id) {
    Call& call = *find(id);
    if (server().is_down || is_cut) {
        --call.underway;
        return tidy();
    }
    call.answers.clear();
    for (const CellQuestion& question : call.questions)
        call.answers.emplace_back(server().read(place_.serial, question));
    for (const CellComponent& component : call.components)
        call.answers.emplace_back(server().raise(place_.serial, component));
    if (world_.random.permille(world_.network.loss)) {
        --call.underway;
        return tidy();
    }
    world_.scheduler.after(world_.message_delay(), [this, id] { come_back(id); });
}

void FarOrigin::come_back(std::uint64_t id) {
    --find(id)->underway;
    pulse_.run(world_.scheduler, [this, id] {
        if (!is_cut) end(id, true);
        tidy();
    });
}

void FarOrigin::end(std::uint64_t id, bool is_answered) {
    Call* const call = find(id);
    if (call == nullptr || !call->answered || !pulse_.is_alive) return;
    const Answered answered = std::exchange(call->answered, nullptr);
    world_.note(
        is_answered ? Happening::kAnswered : Happening::kUnanswered, place_.serial, call->size());
    if (!is_answered) return answered(std::vector<CellAnswer>(call->size()));
    const auto heard = [&](const auto& asked, const CellAnswer& answer) {
        if (asked.cell.workspace == "sim")
            audit_.heard(asked.cell, asked.incarnation, *answer, world_.true_ms());
    };
    for (std::size_t i = 0; i < call->size(); ++i) {
        if (call->is_raise) {
            heard(call->components[i], call->answers[i]);
        } else {
            heard(call->questions[i], call->answers[i]);
        }
    }
    answered(call->answers);
}

// Calls that nobody waits for and of which nothing is underway.
void FarOrigin::tidy() {
    while (!calls_.empty() && !calls_.front().answered && calls_.front().underway == 0)
        calls_.pop_front();
}

}  // namespace sluice::sim
