#include "runtime/transfers/transfer_player.h"

#include <algorithm>
#include <utility>

namespace rematlas {

void TransferPlayer::begin(LinkClock* clock) {
    release(before_);
    std::swap(before_, now_);
    now_.resize(plan_.steps.size());
    orders_ = goes_on_ ? &plan_.steady : &plan_.first;
    in_step_ = true;
    clock_ = clock;
    if (clock_) clock_->begin();
    next_leaving_ = 0;
    held_ = peak_ = Bytes();
    occupied_.assign(plan_.places.size(), 0);
    for (std::size_t i = 0; i < plan_.places.size() && plan_.places[i].taken < 0; ++i)
        occupy(static_cast<std::int32_t>(i));
}

void TransferPlayer::give(std::size_t step, void* device, std::size_t bytes, std::function<void()> work) {
    for (const QueueOrder& order : (*orders_)[step]) carry_out(order, device, bytes, work);
}

void TransferPlayer::carry_out(const QueueOrder& order, void* device, std::size_t bytes,
                               std::function<void()>& work) {
    if (clock_) clock_->tell(order);
    switch (order.kind) {
        case QueueOrder::Kind::wait_for_compute: {
            const Mark here = copies_.mark(CopyQueue::compute);
            copies_.wait(order.queue, here);
            return copies_.release(here);
        }
        case QueueOrder::Kind::wait_for_work:
            return copies_.wait(
                order.queue,
                (order.last_time ? before_ : now_)[static_cast<std::size_t>(order.step)].value());
        default:
            return start(order, device, bytes, work);
    }
}

void TransferPlayer::start(const QueueOrder& order, void* device, std::size_t bytes,
                           std::function<void()>& work) {
    const auto step = static_cast<std::size_t>(order.step);
    const std::int32_t number = plan_.place[step];
    if (order.queue == CopyQueue::host) {
        for (const HostRun::Operand& operand : plan_.host_run(step).operands) occupy(operand.place);
        copies_.run(std::exchange(work, {}));
    } else if (order.queue == CopyQueue::out) {
        occupy(number);
        copies_.copy_out(place(static_cast<std::size_t>(number)), device, bytes);
    } else {
        copies_.copy_in(device, place(static_cast<std::size_t>(number)), bytes);
    }
    if (order.marked) now_[step] = copies_.mark(order.queue);
}

void TransferPlayer::leave(std::size_t step) {
    for (; next_leaving_ < plan_.leaving.size() &&
           plan_.leaving[next_leaving_].first == static_cast<std::int32_t>(step);
         ++next_leaving_)
        vacate(plan_.leaving[next_leaving_].second);
}

void TransferPlayer::pause(std::size_t before) {
    std::function<void()> none;
    for (std::size_t i = 0; i < plan_.paused_before.size(); ++i)
        if (plan_.paused_before[i] == before)
            for (const QueueOrder& order : plan_.pauses[i]) carry_out(order, nullptr, 0, none);
}

void TransferPlayer::end() {
    give(plan_.steps.size());
    for (std::size_t i = 0; i < plan_.places.size(); ++i)
        if (!plan_.places[i].kept && occupied_[i]) vacate(static_cast<std::int32_t>(i));
    in_step_ = false;
    goes_on_ = !plan_.steady.orders.empty();
}

void TransferPlayer::settle() {
    if (in_step_ || goes_on_) synchronize();
    release(before_);
    release(now_);
    goes_on_ = in_step_ = false;
}

TransferPlayer::~TransferPlayer() {
    synchronize();
    settle();
}

void TransferPlayer::synchronize() {
    copies_.synchronize(CopyQueue::out);
    copies_.synchronize(CopyQueue::in);
    copies_.synchronize(CopyQueue::host);
}

void TransferPlayer::occupy(std::int32_t number) {
    if (occupied_[static_cast<std::size_t>(number)]) return;  // a home, or occupied by an earlier step
    occupied_[static_cast<std::size_t>(number)] = true;
    held_ += Bytes(plan_.places[static_cast<std::size_t>(number)].bytes);
    peak_ = std::max(peak_, held_);
}

void TransferPlayer::vacate(std::int32_t number) {
    const HostPlace& place = plan_.places[static_cast<std::size_t>(number)];
    occupied_[static_cast<std::size_t>(number)] = false;
    held_ -= Bytes(place.bytes);
    if (forgotten_)
        forgotten_(this->place(static_cast<std::size_t>(number)), static_cast<std::size_t>(place.bytes));
}

void TransferPlayer::release(std::vector<std::optional<Mark>>& marks) {
    for (const std::optional<Mark>& mark : marks)
        if (mark) copies_.release(*mark);
    marks.clear();
}

}  // namespace rematlas
