// Package collective lets workers compute together: all-reduce, broadcast and
// all-gather over the streams of package cluster.
//
// A node gets an [Endpoint] before it serves. [Form] meets the other workers at the leader's key-value
// store, checks that all have the same settings, and connects them: a [Group] has a stream to the next
// worker of the ring and, among up to 16 workers, one to every other. A group is formed with a generation. A
// worker that is still in an older one, or did not take part in the forming, is refused.
//
// # Reductions
//
// Tensors are packed, from the last to the first and by type, into packs of at least Config.BytesPerPack; no
// tensor is split. Packs are views: nothing is copied into them. A pack of more than 16 KiB goes round the
// ring: every worker owns a part of it, sums pass from worker to worker until each has the complete sum of
// its part (reduce-scatter), and then the results do (all-gather). Parts are sent in messages of up to 512
// KiB, which are added, or stored, as they are read, and passed on while the next ones arrive. Smaller packs
// are sent to all at once and added in the order of the ranks, which takes one hop instead of 2(N-1). Each
// sum is computed in one place, or everywhere in the same order. The result is therefore bitwise equal on
// all workers, and for the same inputs, layout, number of workers and BytesPerPack.
//
// [Group.AllReduce] waits for the result. [Group.Start] takes tensors that are still being computed, such as
// gradients in a backward pass: packs whose tensors are ready are reduced meanwhile, in the same order on
// all workers.
//
// # Failure
//
// The first error anywhere kills the group everywhere. The worker that encounters it sends the cause to its
// neighbours, in a last message and as the status of its incoming streams, and they do the same. The same
// happens when a call's context ends, when a call takes longer than Config.CallTimeout, and when a worker
// closes its end while others call. All pending and later calls fail with a [GroupError], which is
// cluster.ErrPeerLost and names the peer and the cause. A silent peer is lost after the transport's peer
// timeout. After an error a group is closed and the next generation is formed. If programs differ (another
// layout, another call, other settings) the error is [ErrMismatch] instead: trying again does not help.
//
// # On the wire
//
// A stream /goestimator.Collective/Link carries messages one way. Each is a frame with a GroupHeader of
// package wire as its header, followed by a GroupText in hello, farewell and the first message of a call.
// The body is a run of little-endian elements; the call's layout and the index determine which run. The
// first message is hello; the stream ends when the receiver's group does, with status OK (closed in good
// order), Aborted (its reason) or FailedPrecondition (a mismatch).
//
// A call that waits for the others asks each of them, with the method Where, how far it is. Request and
// answer are headers of kind hello; the answer's call is the latest to which the worker has contributed
// everything.
package collective
