// Formats numbers with their units for people.
#pragma once

#include <string>

#include "core/model/units.h"

namespace sailor::report {

std::string counted(long count);                            // "1,024"
std::string counted(long count, const std::string& thing);  // "1 stage", "1,024 stages"
std::string significant(double value, int digits = 3);      // "0.476", "1,234", never an exponent
std::string percent(double part);                           // 0.12 is "12 %", 0.004 is "0.4 %"
std::string memory_text(Bytes amount);                      // "15.2 GiB"
std::string traffic_text(Bytes amount);                     // decimal units, as in prices of traffic: "3.4 GB"
std::string duration(Seconds time);                         // "850 µs", "3.2 days"
std::string money(double dollars);                          // "$0.0123", "$205.70"

}  // namespace sailor::report
