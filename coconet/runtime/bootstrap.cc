#include "coconet/runtime/bootstrap.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <sstream>
#include <type_traits>

#include "coconet/base/error.h"
#include "coconet/runtime/content_hash.h"
#include "coconet/runtime/local_socket.h"

namespace coconet::runtime {

namespace {

constexpr std::uint64_t kMagic = 0x32746f6f62636f63;  // grows with the messages' format

constexpr std::size_t kMostSetting = 1000;

// What a rank believes of the job; its segment's descriptor comes with it.
struct Hello {
  std::uint64_t magic;
  std::int64_t rank, ranks;
  std::uint64_t data_bytes, plan_hash;
  char setting_hash[33];
  char setting[kMostSetting];  // lines, as many as there is room for
};

// Rank 0's answer: `ranks` of these with the descriptors of rank 0, 1, ...; or one refusal.
struct Answer {
  std::uint64_t magic;
  bool refused;
  char text[1000];
};

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  return std::as_bytes(std::span(&value, 1));
}

template <typename T>
bool read_as(const Message& message, T& out) {
  if (message.bytes.size() != sizeof out) return false;
  std::memcpy(&out, message.bytes.data(), sizeof out);
  return out.magic == kMagic;
}

FileDescriptor open_process(int process) {
#ifdef SYS_pidfd_open
  return FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
#else
  (void)process;
  return {};
#endif
}

struct Member {
  FileDescriptor socket;  // to rank 0; rank 0 itself has none
  FileDescriptor segment;
  FileDescriptor death;  // readable or closed when the process has died
};

FileDescriptor death_of(int process, FileDescriptor pipe) {
  FileDescriptor out = open_process(process);
  return out.open() ? std::move(out) : std::move(pipe);
}

Hello hello_of(const JoinOptions& options) {
  Hello out{kMagic, options.rank, options.ranks, options.data_bytes, options.plan_hash, {}, {}};
  std::string lines;
  for (const std::string& part : options.setting) lines += part + "\n";
  std::strncpy(out.setting_hash, ContentHash().add(lines).hex().c_str(),
               sizeof out.setting_hash - 1);
  std::strncpy(out.setting, lines.c_str(), kMostSetting - 1);
  return out;
}

// The first lines that differ, of each.
std::pair<std::string, std::string> first_difference(const std::string& a, const std::string& b) {
  std::istringstream lines_of_a(a), lines_of_b(b);
  for (std::string one, other;;) {
    const bool is_one = static_cast<bool>(std::getline(lines_of_a, one));
    const bool is_other = static_cast<bool>(std::getline(lines_of_b, other));
    if (!is_one || !is_other || one != other) {
      return {is_one ? one : "other settings", is_other ? other : "other settings"};
    }
  }
}

// "" if it agrees with rank 0's own view.
std::string disagreement(const JoinOptions& mine, const Hello& hello,
                         const std::vector<Member>& members) {
  const std::string who = "rank " + std::to_string(hello.rank);
  const auto are_other = [&](const std::string& theirs, const std::string& ours) {
    return who + " joined with " + theirs + ", rank 0 with " + ours +
           "; all ranks of a job must agree";
  };
  const auto differ = [&](const std::string& what, auto theirs, auto ours) {
    return are_other(what + " " + std::to_string(theirs), std::to_string(ours));
  };
  if (hello.ranks != mine.ranks) return differ("rank count", hello.ranks, mine.ranks);
  if (hello.rank < 1 || hello.rank >= mine.ranks) {
    return who + " joined a job of " + std::to_string(mine.ranks) +
           " ranks; legal are ranks 1 to " + std::to_string(mine.ranks - 1) + " beside rank 0";
  }
  if (members[static_cast<std::size_t>(hello.rank)].socket.open()) return who + " joined twice";
  if (hello.plan_hash != mine.plan_hash) {
    return differ("another program, schedule or version, of plan hash", hello.plan_hash,
                  mine.plan_hash);
  }
  const Hello own = hello_of(mine);
  if (std::memcmp(hello.setting_hash, own.setting_hash, sizeof own.setting_hash) != 0) {
    const auto [theirs, ours] = first_difference(
        std::string(hello.setting, strnlen(hello.setting, kMostSetting)), own.setting);
    return are_other(theirs, ours);
  }
  if (hello.data_bytes != mine.data_bytes) {
    return differ("segment size", hello.data_bytes, mine.data_bytes);
  }
  return "";
}

void need_no_failure(const JoinOptions& options) {
  const int failed = options.failed_rank ? options.failed_rank() : -1;
  if (failed < 0 || failed == options.rank) return;
  throw PeerFailure("rank " + std::to_string(failed) + " failed while the ranks joined");
}

// Calls `step` with deadlines that follow each other until it gives something, or to the last of
// them. PeerFailure if a rank fails meanwhile.
template <typename Step>
auto in_steps(const JoinOptions& options, Deadline deadline, Step step) {
  for (;;) {
    const Deadline soon = Clock::now() + std::chrono::milliseconds(20);
    auto out = step(std::min(soon, deadline));
    if (out || soon >= deadline) return out;
    need_no_failure(options);
  }
}

// The ranks that have not joined.
std::string missing(const std::vector<Member>& members) {
  std::string out;
  int count = 0;
  for (std::size_t rank = 1; rank < members.size(); ++rank) {
    if (members[rank].socket.open()) continue;
    out += (count++ == 0 ? "" : ", ") + std::to_string(rank);
  }
  return (count == 1 ? "rank " : "ranks ") + out;
}

// Tells all who have joined why rank 0 ends.
void refuse(const std::vector<Member>& members, const std::string& text) {
  Answer answer{kMagic, true, {}};
  std::strncpy(answer.text, text.c_str(), sizeof answer.text - 1);
  for (const Member& member : members) {
    if (member.socket.open()) send_message(member.socket, bytes_of(answer));
  }
}

// Enters the rank that has sent this message.
void admit(const JoinOptions& options, std::vector<Member>& members, FileDescriptor socket,
           Message message) {
  if (message.bytes.empty()) {
    const std::string who = missing(members);
    throw PeerFailure((who.starts_with("ranks") ? "one of " : "") + who + " died as it joined");
  }
  Hello hello{};
  if (!read_as(message, hello) || message.descriptors.size() != 2) {
    throw PeerFailure("a process joined that does not speak this version of CoCoNet");
  }
  const std::string wrong = disagreement(options, hello, members);
  if (!wrong.empty()) {
    members.push_back({std::move(socket), {}, {}});
    throw PeerFailure(wrong);
  }
  Member& member = members[static_cast<std::size_t>(hello.rank)];
  member.death = death_of(peer_process(socket), std::move(message.descriptors[1]));
  member.socket = std::move(socket);
  member.segment = std::move(message.descriptors[0]);
}

void admit_all(const JoinOptions& options, std::vector<Member>& members, Deadline deadline) {
  const FileDescriptor listener = listen_at(options.job, options.ranks);
  std::vector<FileDescriptor> connected;  // have not said yet who they are
  for (int come = 1; come < options.ranks;) {
    std::vector<const FileDescriptor*> sockets = {&listener};
    for (const FileDescriptor& socket : connected) sockets.push_back(&socket);
    const std::optional<std::size_t> ready = in_steps(
        options, deadline, [&](Deadline until) { return readable_before(sockets, until); });
    if (!ready) {
      throw PeerFailure(missing(members) + " did not join within " + seconds_text(options.timeout));
    }
    if (*ready == 0) {
      std::optional<FileDescriptor> socket = accept_before(listener, deadline);
      if (socket) connected.push_back(std::move(*socket));
      continue;
    }
    FileDescriptor socket = std::move(connected[*ready - 1]);
    connected.erase(connected.begin() + static_cast<std::ptrdiff_t>(*ready - 1));
    std::optional<Message> message = receive_before(socket, deadline);
    admit(options, members, std::move(socket), message ? std::move(*message) : Message{});
    ++come;
  }
}

// Rank 0: all members, in rank order.
std::vector<Member> collect(const JoinOptions& options, Member self, Deadline deadline) {
  std::vector<Member> members(static_cast<std::size_t>(options.ranks));
  members[0].segment = std::move(self.segment);
  members[0].death = death_of(getpid(), std::move(self.death));
  if (options.ranks == 1) return members;
  try {
    admit_all(options, members, deadline);
  } catch (const PeerFailure& error) {
    refuse(members, error.message());
    throw;
  } catch (...) {
    refuse(members, "rank 0 failed while the ranks joined: " +
                        rank_error_of(std::current_exception()).message);
    throw;
  }
  return members;
}

void distribute(const std::vector<Member>& members) {
  const Answer answer{kMagic, false, {}};
  for (const Member& to : members) {
    if (!to.socket.open()) continue;
    for (const Member& from : members) {
      const int both[2] = {from.segment.number(), from.death.number()};
      // One that has died in between is noticed by those that wait for it.
      send_message(to.socket, bytes_of(answer), both);
    }
  }
}

// A rank other than 0: the same, as told by rank 0.
std::vector<Member> ask(const JoinOptions& options, const Member& self, Deadline deadline) {
  const std::string who = "rank " + std::to_string(options.rank);
  const std::optional<FileDescriptor> socket = in_steps(
      options, deadline, [&](Deadline until) { return connect_before(options.job, until); });
  if (!socket) {
    throw PeerFailure("rank 0 did not open the job's socket within " +
                      seconds_text(options.timeout) + ", so " + who + " could not join");
  }
  const Hello hello = hello_of(options);
  const int both[2] = {self.segment.number(), self.death.number()};
  send_message(*socket, bytes_of(hello), both);
  std::vector<Member> members;
  while (members.size() < static_cast<std::size_t>(options.ranks)) {
    // Later than rank 0's own deadline, so that its reason is heard.
    std::optional<Message> message =
        in_steps(options, deadline + std::chrono::seconds(1),
                 [&](Deadline until) { return receive_before(*socket, until); });
    if (!message || message->bytes.empty()) {
      need_no_failure(options);  // rank 0 may have gone for that
      throw PeerFailure("rank 0 " + std::string(message ? "died" : "did not answer") + " while " +
                        who + " joined");
    }
    Answer answer{};
    check(read_as(*message, answer), "rank 0 answers in this version's format");
    if (answer.refused) throw PeerFailure(answer.text);
    check(message->descriptors.size() == 2, "rank 0 sends every rank's segment");
    Member& member = members.emplace_back();
    member.segment = std::move(message->descriptors[0]);
    member.death = std::move(message->descriptors[1]);
  }
  return members;
}

}  // namespace

Joined join(const JoinOptions& options) {
  check(options.rank >= 0 && options.rank < options.ranks, "a rank that joins is one of the job's");
  const Deadline deadline = Clock::now() + options.timeout;
  const std::size_t bytes = segment_bytes(options.data_bytes);
  Pipe life = make_pipe();
  Member self{{}, make_segment_file(bytes), std::move(life.reader)};
  std::vector<Member> members;
  if (options.rank == 0) {
    members = collect(options, std::move(self), deadline);
    distribute(members);
  } else {
    members = ask(options, self, deadline);
  }
  Joined out;
  out.alive = std::move(life.writer);
  for (Member& member : members) {
    out.segments.push_back(map_segment(member.segment, bytes));
    out.deaths.push_back(std::move(member.death));
  }
  return out;
}

std::string make_job_name() {
  std::uint64_t random = 0;
  if (getrandom(&random, sizeof random, 0) != sizeof random) {
    throw_system_error("cannot draw a name for the job");
  }
  return "coconet-" + std::to_string(getpid()) + "-" + std::to_string(random);
}

}  // namespace coconet::runtime
