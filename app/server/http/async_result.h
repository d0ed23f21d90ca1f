// SPDX-License-Identifier: Apache-2.0
// How coroutines wait for an operation of Asio: its error is a result, and no exception.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace lathe::app::http {

inline constexpr auto kResult = boost::asio::as_tuple(boost::asio::use_awaitable);

}  // namespace lathe::app::http
