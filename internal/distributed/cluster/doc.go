// Package cluster is the transport of a distributed job: one gRPC server per
// task, a connection to each other task, frames of raw bytes, bulk connections
// for the frames of streams, and security.
//
// A Node is one task. Open listens, Register adds services, Serve starts to
// answer; Call and Stream reach other tasks by name:
//
//	n, err := cluster.Open(cluster.Config{Task: me, Address: address, Spec: spec, Security: sec})
//	err = n.Register(service)
//	n.Serve()
//	answer, err := n.Call(ctx, cluster.Task{Job: "ps"}, "/goestimator.PS/Pull", &cluster.Frame{Header: header})
//
// NewLocal returns a cluster in memory; package clustertest has one over sockets. Both can inject faults.
//
// # Waiting and losing
//
// Tasks start in any order. A call waits for a peer that is not up yet, or whose name does not resolve yet,
// until its context's deadline; a call without one gets Config.CallTimeout. Attempts to connect are repeated
// at least every 2 s or so, and resolve the name each time. A stream may live as long as its context, but the
// wait for its peer is bounded by Config.CallTimeout.
//
// Both sides ping a connection after 10 s of silence. A host that is down, a network that drops packets or a
// stopped process is therefore noticed within Config.PeerTimeout: 25 s of the default of 30 s. The least is
// 12 s, because gRPC pings no sooner. Every pending call and stream then fails with ErrPeerLost, and
// handlers' contexts end. A call whose deadline passes fails with context.DeadlineExceeded, and with
// ErrPeerLost as well where the peer does not answer a health check within 1 s.
//
// # Refusals
//
// If a peer is known to refuse this task, calls that wait for it fail immediately with ErrRefused and a
// sentence that says what to do. The causes: one side speaks TLS and the other does not; a certificate is not
// accepted; the job token is missing or wrong; the peer belongs to another job (ErrOtherJob) or has another
// version; another process has this task (ErrTaken); a method is unknown. Attempts to connect continue, so calls
// succeed again soon after the cause is gone.
//
// # Two processes of one task
//
// A process has its task, for each node that it calls, until its gRPC connection to that node ends: with the process, or
// after the peer timeout if it is silent. Another process that claims the same task waits until then. If anything arrives
// from the first meanwhile, the other one is refused with ErrTaken. Node.CheckOwn detects a process that answers at this
// task's own address.
//
// # Security
//
// Without certificates tasks talk in plaintext, and are warned of it once unless all are on this machine;
// with them (Security) in TLS 1.2 or later. Files are read again at every handshake. The job token, where
// set, is compared in constant time before anything of a message is read. Health checks need no token, so
// that probes work: they only report that the task serves. HTTP proxy variables are ignored.
//
// A task with a loopback address listens only there. Any other task listens on all interfaces, because its
// address need not be a name of this host (a Kubernetes service).
//
// A malformed or hostile message is an error of its call, and a panic of a handler an Internal error; neither affects the
// rest of the server. Messages larger than Config.MaxMessageBytes are neither sent nor received, and lengths inside a
// message allocate nothing before they are checked.
//
// # Damage
//
// TCP's checksum does not detect all damage by a broken machine. In plaintext every byte between tasks is
// therefore covered by a CRC-32C, which is checked before the byte is used; with TLS, TLS does that.
//
// If bytes were damaged, the task that made the connection gets ErrDamaged from all further calls and streams to that peer,
// and Node.Damaged is closed. It should end, and be restarted. If the other side notices the damage, it reports it to that
// task, and continues.
//
// # Wire format
//
// All numbers are little-endian except gRPC's own. A checksum is the CRC-32C (Castagnoli, 0x82f63b78 reflected) of the bytes
// named, as a 32-bit number. The version of all of this, with the messages of package wire, is 3; tasks of another version
// are refused with an error that says so. After the TLS handshake, if there is one, a caller's first bytes on a connection,
// and the answer to them, are
//
//	bytes 0-3    47 45 48 03: "GEH" and the version
//	bytes 4-7    1f ec 68 77: their checksum
//
// An answer of zeros means that the caller's bytes were damaged. gRPC follows; in plaintext it is sent in records, in both
// directions:
//
//	bytes 0-3    n, the length of the record, at most 131072; 0: the peer has received damaged bytes, and the connection ends
//	bytes 4-7    the checksum of the n bytes
//	bytes 8-11   the checksum of bytes 0-7
//	n bytes      of the connection
//
// A caller that begins with "PRI ", as gRPC itself does, counts as a probe: it may only call the health service.
//
// Calls are gRPC (HTTP/2) with content type application/grpc+goestimator-frame
// and the metadata
//
//	goestimator-task         "/job:worker/task:1", the caller
//	goestimator-incarnation  a nonzero hexadecimal number, new with every start of the caller
//	goestimator-job          "name:" and the job's name, or "cluster:" and three numbers of 16 hexadecimal digits: see JobID
//	authorization            "Bearer " and the job token, where one is set
//
// A message, after gRPC's own 5-byte prefix (0, then its length as a 32-bit big-endian number), is
//
//	bytes 0-3    47 45 46 01: "GEF" and the version of this framing, 1
//	bytes 4-7    h, the length of the header, 32-bit little-endian; at most the rest of the message
//	h bytes      the header: a message of package wire, the method's package says which
//	the rest     the body: raw bytes, tensors in their little-endian layout
//
// There is no compression and no padding. The body is not copied on its way to gRPC, which uses the sender's memory; Send
// and Call return when gRPC's writer has passed on its last byte.
//
// # Bulk connections
//
// gRPC needs about twice the processor time of a bare socket, because bytes are copied through its buffers in
// small pieces. The frames of streams therefore go over plain connections to the same address, where both
// ends support them. gRPC opens the stream, authenticates the caller, reports how the stream ended and
// notices that a peer is lost, but carries no messages of it. Calls use only gRPC.
//
// Where a bulk connection is not available (an older peer, a proxy that only passes HTTP/2, 64 of them in
// use) a stream's frames go by gRPC, and the peer is not asked again for 30 s. Next receives from a bulk
// connection directly into the caller's memory.
//
// A caller gets a ticket by the call /goestimator.Bulk/Open: the header of the answer is a BulkTicket of 16
// random bytes. It dials within 10 s, and after the TLS handshake, if there is one, sends
//
//	bytes 0-3    47 45 42 03: "GEB" and the version
//	16 bytes     the ticket, which is good for one connection
//	4 bytes      the checksum of these 20
//
// The task answers with bytes 0-3 and their checksum, 49 1f 39 cd, with zeros where the bytes were damaged,
// or closes the connection. A bulk connection belongs to the gRPC connection that delivered its ticket:
// streams over it are opened there, with the metadata
//
//	goestimator-bulk    the ticket, in hexadecimal
//
// and it is closed with it. It serves one stream at a time, then others. Either
// side sends records:
//
//	bytes 0-3    47 45 46 02: "GEF", a frame; or 47 45 45 02: "GEE", no more follow in this stream
//	bytes 4-7    h, the length of the header
//	bytes 8-11   b, the length of the body; both lengths are 0 at the end
//	bytes 12-15  the checksum of the body
//	bytes 16-19  the checksum of the header
//	bytes 20-23  the checksum of bytes 0-19
//	h bytes      the header
//	b bytes      the body
//
// With TLS the three checksums are 0. A body is read before its checksum is checked. The read of its last
// bytes fails if the checksum is wrong, so the body must not be used before.
//
// The serving side sends its last record when the handler returns, and then the stream's status by gRPC, with
// goestimator-bulk in its trailer; where that is missing the connection broke. Records that a handler did not
// receive before it returned are skipped, up to the caller's last record, before the connection's next
// stream. Flow control is TCP's. Header and body exceed Config.MaxMessageBytes nowhere, and memory is taken
// as bytes arrive, a MiB ahead at most. On loopback a stream is as fast as a bare TCP connection
// (BenchmarkStream).
package cluster
