// Quantities with units that the compiler checks: Bytes / BytesPerSecond is Seconds; Seconds + Dollars does not
// compile.
#pragma once

#include <compare>

namespace sailor {

template <class Unit>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(double value) : value_(value) {}

  [[nodiscard]] constexpr double value() const { return value_; }

  constexpr Quantity& operator+=(Quantity other) {
    value_ += other.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value_ -= other.value_;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value_ + b.value_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value_ - b.value_); }
  friend constexpr Quantity operator*(Quantity a, double factor) { return Quantity(a.value_ * factor); }
  friend constexpr Quantity operator*(double factor, Quantity a) { return Quantity(a.value_ * factor); }
  friend constexpr Quantity operator/(Quantity a, double divisor) { return Quantity(a.value_ / divisor); }
  friend constexpr double operator/(Quantity a, Quantity b) { return a.value_ / b.value_; }
  friend constexpr auto operator<=>(Quantity, Quantity) = default;

 private:
  double value_ = 0;
};

using Seconds = Quantity<struct SecondsUnit>;
using Bytes = Quantity<struct BytesUnit>;
using BytesPerSecond = Quantity<struct BytesPerSecondUnit>;
using Flops = Quantity<struct FlopsUnit>;  // floating-point operations; a multiply-add counts as two
using FlopsPerSecond = Quantity<struct FlopsPerSecondUnit>;
using Dollars = Quantity<struct DollarsUnit>;  // US dollars
using DollarsPerHour = Quantity<struct DollarsPerHourUnit>;
using DollarsPerByte = Quantity<struct DollarsPerByteUnit>;

constexpr Seconds operator/(Bytes amount, BytesPerSecond rate) { return Seconds(amount.value() / rate.value()); }
constexpr BytesPerSecond operator/(Bytes amount, Seconds time) { return BytesPerSecond(amount.value() / time.value()); }
constexpr Bytes operator*(BytesPerSecond rate, Seconds time) { return Bytes(rate.value() * time.value()); }
constexpr Seconds operator/(Flops work, FlopsPerSecond rate) { return Seconds(work.value() / rate.value()); }
constexpr Dollars operator*(DollarsPerHour rate, Seconds time) { return Dollars(rate.value() * time.value() / 3600); }
constexpr DollarsPerHour operator/(Dollars amount, Seconds time) {
  return DollarsPerHour(amount.value() * 3600 / time.value());
}
constexpr Seconds operator/(Dollars amount, DollarsPerHour rate) {
  return Seconds(amount.value() * 3600 / rate.value());
}
constexpr Dollars operator*(DollarsPerByte price, Bytes amount) { return Dollars(price.value() * amount.value()); }

constexpr Bytes gibibytes(double amount) { return Bytes(amount * 1024 * 1024 * 1024); }
constexpr BytesPerSecond gigabytes_per_second(double amount) { return BytesPerSecond(amount * 1e9); }
constexpr DollarsPerByte dollars_per_gigabyte(double amount) { return DollarsPerByte(amount / 1e9); }
constexpr FlopsPerSecond teraflops_per_second(double amount) { return FlopsPerSecond(amount * 1e12); }

}  // namespace sailor
