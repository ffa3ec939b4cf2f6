#include "coconet/runtime/rank_error.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>
#include <system_error>

namespace coconet::runtime {

namespace {

template <std::size_t N>
void store_text(char (&out)[N], const std::string& text) {
  const std::size_t length = std::min(text.size(), N - 1);
  std::memcpy(out, text.data(), length);
  out[length] = '\0';
  if (length < text.size()) std::memcpy(out + length - 3, "...", 3);
}

}  // namespace

void RankError::raise() const {
  if (internal) throw InternalError(message);
  throw UserError(kind, message, where);
}

namespace {

// Short enough to be made without memory.
RankError out_of_memory() { return {false, ErrorKind::runtime, "out of memory", {}}; }

RankError told_by(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const UserError& error) {
    return {false, error.kind(), error.message(), error.where()};
  } catch (const UserErrors& errors) {
    return {false, errors.errors().front().kind(), errors.what(), {}};
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::length_error&) {
    return out_of_memory();
  } catch (const std::system_error& error) {
    std::string what = std::string("the system refuses: ") + error.what();
    if (error.code() == std::errc::resource_unavailable_try_again) {
      what += ", as to a thread where memory or processes (ulimit -v, -u) are used up";
    }
    return {false, ErrorKind::runtime, what, {}};
  } catch (const std::exception& error) {
    return {true, ErrorKind::runtime, error.what(), {}};
  } catch (...) {
    return {true, ErrorKind::runtime, "an exception that is not a std::exception", {}};
  }
}

}  // namespace

RankError rank_error_of(const std::exception_ptr& exception) noexcept {
  try {
    return told_by(exception);
  } catch (...) {
    return out_of_memory();
  }
}

void call_foreign(const std::string& what, const std::function<void()>& code) {
  const auto fail = [&](const std::string& text) {
    throw UserError(ErrorKind::runtime, what + " threw " + text);
  };
  try {
    code();
  } catch (const InternalError&) {
    throw;
  } catch (const std::exception& error) {
    if (!rank_error_of(std::current_exception()).internal) throw;
    fail(std::string("an exception: ") + error.what());
  } catch (...) {
    fail("an exception that is not a std::exception");
  }
}

void StoredError::store(const RankError& error) {
  internal = error.internal;
  kind = error.kind;
  line = error.where.line;
  column = error.where.column;
  length = error.where.length;
  store_text(file, error.where.file);
  store_text(message, error.message);
}

RankError StoredError::load() const {
  return {internal, kind, message, {file, line, column, length}};
}

}  // namespace coconet::runtime
