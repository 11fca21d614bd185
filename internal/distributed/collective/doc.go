// Package collective lets workers compute together: all-reduce, broadcast and
// all-gather over the streams of package cluster.
//
// A node gets an [Endpoint] before it serves. [Form] meets the other workers at
// the coordinator's key-value store, checks that all have the same settings, and links up: a
// [Group] has a stream to the next worker of the ring and, among up to 16 workers,
// one to every other. A group is formed with a generation; who still is in an
// older one, or was not there when the group formed, is refused.
//
// # Reductions
//
// Tensors are packed, from the last to the first and by type, into packs of at
// least Config.BytesPerPack; no tensor is split. Packs are views: nothing is
// copied into them. A pack of more than 16 KiB goes round the ring: every worker
// owns a part of it, sums pass from worker to worker until each has the whole sum
// of its part (reduce-scatter), and then the results do (all-gather). Parts go in
// messages of up to 512 KiB, which are added, or put in their place, as they are
// read, and passed on while the next ones come. Smaller
// packs are sent to all at once and added in the order of the ranks, which takes
// one hop instead of 2(N-1). Each sum is computed in one place, or everywhere in
// the same order, so the result is the same bits on all workers and the same for
// the same inputs, layout, number of workers and BytesPerPack.
//
// [Group.AllReduce] waits for the result. [Group.Start] takes tensors that are
// still being computed, as gradients in a backward pass: packs whose tensors are
// ready are reduced meanwhile, in one order on all workers.
//
// # Failure
//
// The first error anywhere kills the group everywhere: the worker that meets it
// tells its neighbours why, in a last message and as the status of the streams
// that come to it, and they do the same. So it is when a call's context ends, when
// a call takes longer than Config.CallTimeout, and when a worker closes its end
// while others call. All pending and later calls fail with a [GroupError], which
// is cluster.ErrPeerLost and names the peer and the cause. A peer that is silent
// is lost after the transport's peer timeout. After an error a group is closed and
// the next generation is formed. Where programs differ (another layout, another
// call, other settings) the error is [ErrMismatch] instead: trying again is no use.
//
// # On the wire
//
// A stream /goestimator.Collective/Link carries messages one way. Each is a frame
// whose header is a GroupHeader of package wire, with a GroupText behind it in hello, farewell and
// the first message of a call, and whose body is a run of little-endian elements: which run follows from the
// call's layout and the index. The first message is hello; the stream ends when
// the receiver's group does, with status OK (closed in good order), Aborted (its
// reason) or FailedPrecondition (a mismatch).
//
// A call that waits for the others asks each of them, by the method Where, how far
// it is. Request and answer are headers of kind hello; the answer's call is the
// latest to which the worker has brought all of its part.
package collective
