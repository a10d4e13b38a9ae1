// How tests that are run for several families of models are called.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "core/model/model_spec.h"

namespace sailor::trainer::testing {

inline std::string family_name(const ::testing::TestParamInfo<ModelFamily>& family) {
  std::string name(to_string(family.param));
  std::erase(name, '-');
  return name;
}

}  // namespace sailor::trainer::testing
