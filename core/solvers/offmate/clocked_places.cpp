#include "core/solvers/offmate/clocked_places.h"

#include <algorithm>
#include <cmath>

namespace rematlas::offmate {

/// An upper limit for the time of a copy.
constexpr double kLongestCopy = 4.5e15;  // ns

std::int64_t ClockedPlaces::copy_time(int tensor, double bytes_per_second) const {
    const double time = static_cast<double>(flat_.bytes[tensor]) / bytes_per_second * 1e9;
    return std::llround(std::min(time, kLongestCopy));
}

std::int64_t ClockedPlaces::time_out(int tensor) const {
    return copy_time(tensor, links_.to_host_bytes_per_second) + links_.copy_latency.value;
}
std::int64_t ClockedPlaces::time_in(int tensor) const {
    return copy_time(tensor, links_.to_device_bytes_per_second) + links_.copy_latency.value;
}

bool ClockedPlaces::is_settled(int tensor) const {
    const Place& place = places_[tensor];
    return queues_.done(place.to_host) && queues_.done(place.to_device) && queues_.done(place.host_op);
}

bool ClockedPlaces::fits_host(int tensor) const {
    return has_room(places_[tensor].lives_on_host ? 0 : flat_.bytes[tensor]);
}

bool ClockedPlaces::begin(int tensor, bool on_device, bool lives_on_host) {
    Place& place = places_[tensor];
    place.on_device = on_device;
    place.lives_on_host = place.on_host = lives_on_host;
    if (on_device) held_ += flat_.bytes[tensor];
    if (lives_on_host) host_held_ += flat_.bytes[tensor];
    return has_room(0);
}

int ClockedPlaces::copy(int tensor, SideQueue queue, double speed, double contended, std::vector<int> after) {
    return queues_.add({.queue = queue,
                        .alone = copy_time(tensor, speed),
                        .contended = copy_time(tensor, contended > 0 ? contended : speed),
                        .latency = links_.copy_latency.value,
                        .after = std::move(after),
                        .label = tensor});
}

void ClockedPlaces::offload(int tensor) {
    Place& place = places_[tensor];
    steps_.push_back(Step::offload(TensorId(tensor)));
    place.to_host = copy(tensor, SideQueue::to_host, links_.to_host_bytes_per_second,
                         links_.to_host_contended_bytes_per_second, {place.to_device, place.host_op});
    place.on_host = true;
    if (!place.lives_on_host) host_held_ += flat_.bytes[tensor];
    busy_until_ = std::max(busy_until_, now()) + time_out(tensor);
}

void ClockedPlaces::fetch(int tensor) {
    Place& place = places_[tensor];
    steps_.push_back(Step::fetch(TensorId(tensor)));
    place.to_device = copy(tensor, SideQueue::to_device, links_.to_device_bytes_per_second,
                           links_.to_device_contended_bytes_per_second, {place.to_host, place.host_write});
    place.on_device = true;
    held_ += flat_.bytes[tensor];
}

void ClockedPlaces::free(int tensor) {
    queues_.wait_for(places_[tensor].to_host);
    steps_.push_back(Step::free(TensorId(tensor)));
    places_[tensor].on_device = false;
    held_ -= flat_.bytes[tensor];
}

void ClockedPlaces::drop(int tensor) {
    Place& place = places_[tensor];
    for (const int work : {place.to_host, place.to_device, place.host_op}) queues_.wait_for(work);
    steps_.push_back(Step::drop(TensorId(tensor)));
    place.on_host = false;
    host_held_ -= flat_.bytes[tensor];
}

void ClockedPlaces::run(int op, bool in_place, const std::vector<std::int32_t>& read,
                        const std::vector<std::int32_t>& changed) {
    for (const auto* list : {&read, &changed})
        for (const int t : *list) queues_.wait_for(places_[t].to_device);
    for (const int t : changed) {
        Place& place = places_[t];
        queues_.wait_for(place.host_op);
        if (place.on_host && !place.lives_on_host) host_held_ -= flat_.bytes[t];
        place.on_host = false;
    }
    steps_.push_back(in_place ? Step::run_inplace(OpId(op)) : Step::run(OpId(op)));
    queues_.move_to(now() + flat_.time[op]);
    if (in_place) {
        for (const FlatGraph::Pair& pair : flat_.inplace_pairs(op)) {
            places_[pair.in].on_device = false;
            held_ -= flat_.bytes[pair.in];
        }
    }
    for (const int t : flat_.outputs[op]) {
        places_[t].on_device = true;
        held_ += flat_.bytes[t];
    }
}

bool ClockedPlaces::run_on_host(const Op& op, int number) {
    SideWork work{.queue = SideQueue::host, .alone = op.host_time->value, .label = number};
    for (const auto* list : {&op.inputs, &op.mutates})
        for (TensorId t : *list) work.after.push_back(places_[t.index()].to_host);
    steps_.push_back(Step::run_host(OpId(number)));
    const int added = queues_.add(std::move(work));
    for (const auto* list : {&op.inputs, &op.mutates, &op.outputs})
        for (TensorId t : *list) places_[t.index()].host_op = added;
    for (const auto* list : {&op.mutates, &op.outputs})
        for (TensorId t : *list) places_[t.index()].host_write = added;
    for (TensorId t : op.outputs) {
        places_[t.index()].on_host = true;
        host_held_ += flat_.bytes[t.index()];
    }
    return has_room(0);
}

void ClockedPlaces::wait_for_all() {
    for (const Place& place : places_)
        for (const int work : {place.to_host, place.to_device, place.host_op}) queues_.wait_for(work);
}

}  // namespace rematlas::offmate
