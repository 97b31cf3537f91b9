// Ids and quantities with types of their own: code that mixes them does not compile.
//
//     OpId op{3};  TensorId t{7};  Bytes b{1024};  Nanoseconds dt{1200};
//     graph.ops[op].time + dt;     // Nanoseconds
//     graph.tensors[t];            // graph.tensors[op] does not compile
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <vector>

namespace rematlas {

/// Index of an element of one kind; -1 means "none".
template <class Tag>
struct Id {
    std::int32_t value = -1;

    constexpr Id() = default;
    constexpr explicit Id(std::int64_t v) : value(static_cast<std::int32_t>(v)) {}
    constexpr bool valid() const { return value >= 0; }
    constexpr std::size_t index() const { return static_cast<std::size_t>(value); }
    constexpr auto operator<=>(const Id&) const = default;
};

using OpId = Id<struct OpTag>;
using TensorId = Id<struct TensorTag>;
using BlockId = Id<struct BlockTag>;

/// A count in one unit. Sums and differences keep the unit. Inner loops may use the plain number, `value`.
template <class Tag>
struct Quantity {
    std::int64_t value = 0;

    constexpr Quantity() = default;
    constexpr explicit Quantity(std::int64_t v) : value(v) {}
    constexpr auto operator<=>(const Quantity&) const = default;
    constexpr Quantity& operator+=(Quantity o) {
        value += o.value;
        return *this;
    }
    constexpr Quantity& operator-=(Quantity o) {
        value -= o.value;
        return *this;
    }
    friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value + b.value); }
    friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value - b.value); }
    friend constexpr Quantity operator-(Quantity a) { return Quantity(-a.value); }
};

using Bytes = Quantity<struct BytesTag>;
using Nanoseconds = Quantity<struct NanosecondsTag>;

/// A vector that is indexed only by one kind of id.
template <class IdType, class T>
class IdVector {
  public:
    IdVector() = default;
    explicit IdVector(std::size_t n, const T& v = T()) : items_(n, v) {}
    IdVector(std::initializer_list<T> items) : items_(items) {}

    decltype(auto) operator[](IdType id) { return items_[id.index()]; }
    decltype(auto) operator[](IdType id) const { return items_[id.index()]; }
    bool contains(IdType id) const { return id.valid() && id.index() < items_.size(); }
    std::size_t size() const { return items_.size(); }
    bool empty() const { return items_.empty(); }
    IdType push_back(T item) {
        items_.push_back(std::move(item));
        return IdType(static_cast<std::int64_t>(items_.size()) - 1);
    }
    void reserve(std::size_t n) { items_.reserve(n); }
    void resize(std::size_t n) { items_.resize(n); }
    auto begin() { return items_.begin(); }
    auto end() { return items_.end(); }
    auto begin() const { return items_.begin(); }
    auto end() const { return items_.end(); }
    bool operator==(const IdVector&) const = default;

    /// All ids in order, for loops such as `for (OpId op : graph.ops.ids())`.
    struct Ids {
        std::int32_t count;
        struct Iterator {
            std::int32_t at;
            IdType operator*() const { return IdType(at); }
            Iterator& operator++() {
                ++at;
                return *this;
            }
            bool operator!=(const Iterator& o) const { return at != o.at; }
        };
        Iterator begin() const { return {0}; }
        Iterator end() const { return {count}; }
    };
    Ids ids() const { return {static_cast<std::int32_t>(items_.size())}; }

  private:
    std::vector<T> items_;
};

}  // namespace rematlas

template <class Tag>
struct std::hash<rematlas::Id<Tag>> {
    std::size_t operator()(rematlas::Id<Tag> id) const noexcept {
        return std::hash<std::int32_t>()(id.value);
    }
};
