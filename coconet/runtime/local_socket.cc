#include "coconet/runtime/local_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <thread>

#include "coconet/base/error.h"

namespace coconet::runtime {

namespace {

constexpr std::size_t kMaxMessage = 8192;
constexpr std::size_t kMaxDescriptors = 2;

struct Address {
  sockaddr_un value{};
  socklen_t length = 0;
  const sockaddr* pointer() const { return reinterpret_cast<const sockaddr*>(&value); }
};

// Abstract: the first byte of the name is 0, so no file is made and none can be left behind.
Address address_of(const std::string& name) {
  Address out;
  check(!name.empty() && name.size() < sizeof out.value.sun_path - 1, "a job's name fits a socket");
  out.value.sun_family = AF_UNIX;
  std::memcpy(out.value.sun_path + 1, name.data(), name.size());
  out.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return out;
}

FileDescriptor make_socket() {
  FileDescriptor out(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!out.open()) throw_system_error("cannot make a local socket");
  return out;
}

ucred credentials_of(const FileDescriptor& socket) {
  ucred out{};
  socklen_t size = sizeof out;
  if (getsockopt(socket.number(), SOL_SOCKET, SO_PEERCRED, &out, &size) != 0) {
    throw_system_error("cannot read a peer's credentials");
  }
  return out;
}

bool is_readable_before(const FileDescriptor& socket, Deadline deadline) {
  const FileDescriptor* const only[] = {&socket};
  return readable_before(only, deadline).has_value();
}

}  // namespace

FileDescriptor listen_at(const std::string& name, int backlog) {
  FileDescriptor out = make_socket();
  const Address address = address_of(name);
  if (bind(out.number(), address.pointer(), address.length) != 0) {
    if (errno == EADDRINUSE) {
      throw UserError(ErrorKind::runtime, "a rank 0 of the job " + name + " is there already");
    }
    throw_system_error("cannot open the job's socket \"" + name + "\"");
  }
  if (listen(out.number(), backlog) != 0) throw_system_error("cannot listen for the job's ranks");
  return out;
}

FileDescriptor claim_name(const std::string& name) {
  FileDescriptor out = make_socket();
  const Address address = address_of(name);
  const bool taken = bind(out.number(), address.pointer(), address.length) != 0;
  return taken ? FileDescriptor() : std::move(out);
}

std::optional<std::size_t> readable_before(std::span<const FileDescriptor* const> sockets,
                                           Deadline deadline) {
  std::vector<pollfd> items;
  for (const FileDescriptor* socket : sockets) items.push_back({socket->number(), POLLIN, 0});
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    const int time = static_cast<int>(std::clamp<long long>(left, 0, 1 << 30));
    const int ready = poll(items.data(), items.size(), time);
    if (ready == 0) return std::nullopt;
    if (ready < 0 && errno != EINTR) throw_system_error("cannot wait for a peer's message");
    for (std::size_t i = 0; ready > 0 && i < items.size(); ++i) {
      if (items[i].revents != 0) return i;
    }
  }
}

std::optional<FileDescriptor> accept_before(const FileDescriptor& listener, Deadline deadline) {
  while (is_readable_before(listener, deadline)) {
    FileDescriptor peer(accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC));
    if (peer.open() && credentials_of(peer).uid == geteuid()) return peer;
    if (!peer.open() && errno != EINTR && errno != ECONNABORTED) {
      throw_system_error("cannot take a rank's connection");
    }
  }
  return std::nullopt;
}

std::optional<FileDescriptor> connect_before(const std::string& name, Deadline deadline) {
  const Address address = address_of(name);
  auto nap = std::chrono::microseconds(200);
  for (;;) {
    FileDescriptor out = make_socket();
    if (connect(out.number(), address.pointer(), address.length) == 0) {
      if (credentials_of(out).uid == geteuid()) return out;
    }
    if (Clock::now() >= deadline) return std::nullopt;
    std::this_thread::sleep_for(nap);
    nap = std::min(nap * 2, std::chrono::microseconds(10000));
  }
}

int peer_process(const FileDescriptor& socket) { return credentials_of(socket).pid; }

bool send_message(const FileDescriptor& socket, std::span<const std::byte> message,
                  std::span<const int> descriptors) {
  check(message.size() <= kMaxMessage && descriptors.size() <= kMaxDescriptors,
        "a bootstrap message is small");
  iovec part{const_cast<std::byte*>(message.data()), message.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxDescriptors)] = {};
  if (!descriptors.empty()) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* item = CMSG_FIRSTHDR(&header);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(item), descriptors.data(), descriptors.size_bytes());
  }
  ssize_t sent = -1;
  do {
    sent = sendmsg(socket.number(), &header, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(message.size());
}

std::optional<Message> receive_before(const FileDescriptor& socket, Deadline deadline) {
  if (!is_readable_before(socket, deadline)) return std::nullopt;
  Message out;
  out.bytes.resize(kMaxMessage);
  iovec part{out.bytes.data(), out.bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxDescriptors)] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  ssize_t received = -1;
  do {
    received = recvmsg(socket.number(), &header, MSG_CMSG_CLOEXEC);
  } while (received < 0 && errno == EINTR);
  out.bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(received, 0)));
  if (header.msg_flags & MSG_CTRUNC) {
    throw UserError(ErrorKind::runtime,
                    "too few open files are allowed (ulimit -n) to take the memory of a rank");
  }
  for (cmsghdr* item = CMSG_FIRSTHDR(&header); item != nullptr; item = CMSG_NXTHDR(&header, item)) {
    if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t at = CMSG_LEN(0); at + sizeof(int) <= item->cmsg_len; at += sizeof(int)) {
      int number = -1;
      std::memcpy(&number, reinterpret_cast<char*>(item) + at, sizeof number);
      out.descriptors.emplace_back(number);
    }
  }
  return out;
}

}  // namespace coconet::runtime
