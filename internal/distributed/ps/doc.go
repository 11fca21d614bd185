// Package ps holds the variables of a job on parameter servers.
//
// A Server runs in each ps task as a cluster.Service. It does not know models: a Plan names the variables, how they are partitioned
// along axis 0 and which server has which part. The Plan also has a TrainOp's rules as data. Each part is a unit: value, slots and the
// optimizer's scalars under one lock, with an update program compiled for it. Units share no lock, so pushes of several workers are
// applied concurrently.
//
// The global step is not a variable of a plan: server 0 counts it.
//
// A Client connects workers and the chief to the servers:
//
//	plan, err := ps.NewPlan(variables, ps.Config{Servers: n, Partitioner: ps.MinSize{Bytes: 256 << 10, Shards: n}, Train: trainOp})
//	client := ps.NewClient(ps.ClientConfig{Client: node, Servers: tasks, Rank: rank})
//	err = client.Create(ctx, plan, ps.State{Value: ps.Initial(variables, seed)})   // the chief
//	status, err := client.WaitReady(ctx, plan)                                     // the others
//	progress, err := client.Pull(ctx, mirror)                                      // whole variables
//	progress, err = client.PullRows(ctx, ps.Rows{...})                             // rows of tables
//	reply, err := client.Push(ctx, ps.Push{Step: progress.GlobalStep, Gradients: ...})
//
// # Sessions
//
// Create begins a session, a random number that all servers of a job share. Every later request carries the number and the server's
// incarnation, which is new in every process. A server that came back empty, or that the chief gave new values, refuses with
// FailedPrecondition, and the client's error wraps ErrReset. Connect returns the state of all servers. A restarted chief joins a
// complete session and replaces an incomplete one.
//
// # Asynchronous steps
//
// A push goes to all servers at once, and all apply their shares as they arrive. Server 0 gets its last frame when the others have
// answered, counts the global step, and records the worker's input position. So the position and the step belong to applied gradients.
// The answers can include the new values of variables (Push.Into), which saves the Pull of the next step. A push has a number; if it
// arrives again, it is answered but not applied. With Config.Staleness, server 0 is asked first and refuses older gradients; a refused
// push reaches no server. The limit is checked when the push begins.
//
// # Limits of asynchronous steps
//
// Config.Staleness drops gradients that are too old; it does not make workers wait for slower ones. tf.estimator has no such limit. A
// worker whose gradients are dropped pulls the present values for its next step, so a slow worker does not delay the others, but its
// work is lost as long as it is too slow.
//
// # Synchronous steps
//
// With Config.Sync, as with tf.train.SyncReplicasOptimizer, a step is the mean of the gradients of Aggregate workers. Gradients of
// further workers (backups) and of an earlier step are dropped. Servers keep the pushed gradients, server 0 last: its first Aggregate
// pushes decide which workers make the step. It sends these ranks to the other servers, and they apply the mean of exactly these. They
// sum in the order of ranks, so the result does not depend on the order of arrival. A worker that dies before server 0 has its push
// does not count; one that dies after that does. In between, global clips ask all servers for the norms of their means. The global
// step is counted when all have applied; if one cannot within ServerConfig.Timeout, the session fails with an error that names it.
// Gradients of up to Aggregate (on server 0) or Workers (on the others) workers are in memory until then.
//
// Means are weighted by Push.Weight, the rows of the batch, so that shards of different size give the mean of the whole batch.
//
// # Step functions
//
// The variables of a TrainOp's step function are whole and on server 0, which runs the function as it counts the step: with each
// push's tally or, with Sync, with the sum of the tallies of the step. The variables change together: a pull gets all of them at one
// moment. A tally whose stamp differs from the variables' is dropped and counted as stale. A function that fails changes nothing; its
// error ends the training.
//
// # Updates
//
// An update is a push that is not a step: it adds to float64 variables, or assigns, as it arrives, also in synchronous plans. Like
// every push it is used once. Metrics keep their sums this way.
//
// # Checkpoints
//
// Fence holds back pushes on server 0 (which therefore finishes no step), and on the others one after the other only while they mark
// their units. The first change of a unit after that copies the affected data, in blocks of 256 KiB, unless it was read already. A
// snapshot is exact for synchronous steps and for one server. With several servers and asynchronous steps, the snapshot's global step
// and positions do not count pushes in flight. Such a push may be on some servers and not on others, as in any worker's pull.
// ServerConfig.FenceHold and FenceLease end the fences of a lost chief.
//
// # Differences from one process
//
// Asynchronous workers clip their own gradients before they push them; such plans have no clip. In synchronous plans the clip applies
// to the mean. From a lookup that sums equal rows, it sees a row of all workers once; from others, each row of each worker. The steps
// therefore equal those of one process with all batches. Scalars that the variables of a group share (Adam's powers) are kept in each
// part, as parts are updated independently, and checkpointed once, from the first. If gradients are accumulated over steps, each part
// counts its own pushes, and the schedule follows that count; clips cannot be combined with this.
//
// # Protocol
//
// Streams of Pull, PullRows and Push serve one request after the other, until the caller ends them or an error occurs. A client keeps
// its streams for later requests, as opening one costs as much as a small request.
//
// The methods belong to the service goestimator.ParameterServer. Headers are messages of package wire; bodies are raw little-endian
// tensor elements.
//
//	Status      StatusRequest                  -> StatusReply
//	Create      CreateRequest                  -> Empty
//	Fill        stream of FillHeader, body: bytes from the offset on -> Empty, at the end
//	Ready       ReadyRequest                   -> Empty
//	Pull        PullRequest                    -> stream of PullFrame, body: elements; the last has its end set
//	PullRows    RowsRequest, body: row numbers int32 -> stream of PullFrame, body: rows; the last, which may have rows, has its end set
//	Push        stream of: PushHeader; with ask, the answer is a PushReply, and where that is stale or done
//	            nothing follows; else frames without a header, whose bodies are the entries' (sparse ones: row
//	            numbers int32, increasing, of ROWS_APART not falling) and values, then the tally's sums (8 bytes
//	            each) and records; then PushEnd -> PushReply and, where values are wanted, what Pull answers
//	WaitStep    WaitRequest                    -> WaitReply; when the step is reached, stopped, or after 10 s
//	Position    PositionRequest                -> PositionReply; to server 0
//	Stop        StopRequest                    -> Empty; to server 0
//	Extend      ExtendRequest                  -> Empty; to server 0
//	Finish      FinishRequest                  -> Empty; any session
//	FenceBegin, FenceMark, FenceEnd: FenceRequest -> FenceReply
//	Release     FenceRequest                   -> Empty
//	ReadSlice   SliceRequest                   -> Empty, body: bytes
//	Norms       RoundRequest                   -> NormsReply; between servers
//	Apply       RoundRequest                   -> Empty; between servers
//
// Units are numbered in the plan's order; field 0 of a unit is its value, followed by its slots and shared scalars.
package ps
