// Package keyvalue lets the tasks of a job agree. It is a small key-value store in the
// memory of one task, the leader. It has values, gathers (barriers that carry a value
// from each rank), generations and members, but no tensors.
//
// [Store] is the state and runs on the leader; [Client] is the same from any other
// task. Both implement [KeyValue], [Regrouper] and [Pulse]. [Presence] is the heartbeat
// of one task.
//
// # Who asks
//
// A request comes from a cluster.Peer: a task and the incarnation of its process. Once
// a task was seen with a new incarnation, its former ones are refused with
// [ErrSuperseded]. Messages of a dead process therefore have no effect, and two
// processes with the same task do not take turns. A Store that came back empty is
// another Store: every request names the one that it means, and a Client reports
// [ErrLeaderReset] from then on.
//
// # Gathers
//
// A gather has a name, used once, and a size. Each rank arrives with a value and stays
// until all ranks are present at the same time; then all get the values in the order of
// the ranks. A rank whose time runs out leaves with its value, so a gather never
// completes with a rank that left. A rank that arrives as another process replaces its
// value. After completion, only the process that took part may ask again (its answer
// was lost); any other gets [ErrStale].
//
// # Generations
//
// Survivors of a lost worker and the worker that was started in its place must meet in
// the same group. All call NextGeneration with the number of the generation that they
// were in (0: none) and stay as in a gather:
//
//  1. A rank that was in the latest generation g, as this process, and says
//     that it was in an older one, did not get the answer: it gets g again,
//     unless someone already waits for the one after g.
//  2. Anyone else waits in the only open round.
//  3. The round completes when all ranks wait in it at the same time. Its number
//     is one more than g and than every number that somebody in it was in.
//
// The first worker that finds the group of g broken closes it, which breaks it for the
// others, and asks for the next generation; a restarted worker asks with 0 and waits.
// If a waiting worker dies, its round waits for the next process of that rank, or ends
// for each waiting rank at its own deadline with the names of the missing ranks
// ([MissingError]). If a worker dies after the round was completed, it breaks the group
// that was formed, and the survivors ask again. So if no rank dies for as long as it
// takes all to ask, all are in one generation.
//
// # Bounds
//
// Keys, values, gathers and members are limited, in number and in bytes ([Options]);
// requests beyond the limits are refused with [ErrFull]. A finished gather is kept for
// a minute and its name for longer, up to the number of gathers. Every wait ends: with
// its context or after [DefaultWait].
package keyvalue
