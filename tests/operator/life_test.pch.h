// The large headers of libraries that nearly every test of a job's life needs, precompiled once.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
