// Messages with descriptors between processes of one user and node: SOCK_SEQPACKET on an abstract
// Unix name.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "coconet/runtime/backoff.h"
#include "coconet/runtime/file_descriptor.h"

namespace coconet::runtime {

using Deadline = Clock::time_point;

// UserError if the name is taken.
FileDescriptor listen_at(const std::string& name, int backlog);

// Holds a name while it is open; closed if somebody else holds it.
FileDescriptor claim_name(const std::string& name);

// The first of the sockets from which something can be taken (a connection, a message, the news
// that the peer is gone); nothing if there was none before the deadline.
std::optional<std::size_t> readable_before(std::span<const FileDescriptor* const> sockets,
                                           Deadline deadline);

// A connection from a process of this user; nothing if none came before the deadline. Others are
// turned away.
std::optional<FileDescriptor> accept_before(const FileDescriptor& listener, Deadline deadline);

// Nothing if nobody of this user listens there before the deadline.
std::optional<FileDescriptor> connect_before(const std::string& name, Deadline deadline);

// The process at the other end.
int peer_process(const FileDescriptor& socket);

// False if the peer is gone.
bool send_message(const FileDescriptor& socket, std::span<const std::byte> message,
                  std::span<const int> descriptors = {});

struct Message {
  std::vector<std::byte> bytes;  // empty: the peer is gone
  std::vector<FileDescriptor> descriptors;
};
// Nothing if no message came before the deadline. At most 8 KiB and 2 descriptors.
std::optional<Message> receive_before(const FileDescriptor& socket, Deadline deadline);

}  // namespace coconet::runtime
