package kernels

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Task is work over the index range [0, n) that may be cut at any multiple of the grain.
type Task interface {
	// Run does the indices lo <= i < hi. Several calls with disjoint ranges run at the same time.
	Run(lo, hi int)
}

// WorkerFunction is the top function of an idle worker, for goleak.IgnoreTopFunction or IgnoreAnyFunction.
const WorkerFunction = "github.com/goestimator/goestimator/internal/runtime/kernels.(*pool).worker"

const (
	spinTime     = 20 * time.Microsecond // how long a worker looks for the next job before it parks
	chunksEach   = 4                     // chunks per thread: small enough to balance, large enough to be cheap
	placeEvery   = 64                    // jobs between two checks of where the threads run
	jobOpen      = int64(1) << 32        // set in pool.state while workers may join
	jobSequence  = int64(1) << 33        // counts jobs above the flag
	joinedMask   = jobOpen - 1
	yieldAtCount = 64 // how often the waiting caller checks the state before it yields its thread
)

// pool is a set of persistent workers that help one caller at a time.
type pool struct {
	busy    atomic.Bool  // held by the one parallel region; other callers run serially
	state   atomic.Int64 // sequence, open flag, number of workers inside the job
	next    atomic.Int64 // chunks taken: from the front in the low half, from the back in the high one
	parked  atomic.Int32
	threads atomic.Int32 // set by SetThreads; 0: GOMAXPROCS
	wake    chan struct{}

	// The job, written before state opens it, and read only by workers that have joined.
	task   Task
	n      int
	chunk  int
	chunks int64
	limit  int64        // workers allowed to join
	cpu    atomic.Int64 // caller's CPU, or -1
	failed atomic.Pointer[taskPanic]

	started int // workers running; guarded by busy
	stop    atomic.Bool
	alive   sync.WaitGroup
}

type taskPanic struct{ value any }

var workers = &pool{wake: make(chan struct{}, 1024)}

// SetThreads sets how many threads, the caller included, take part in a kernel; n <= 0 means GOMAXPROCS, which is also
// the upper bound and the default.
func SetThreads(n int) { workers.threads.Store(int32(max(n, 0))) }

// Threads returns how many threads take part in a kernel, the caller included.
func Threads() int {
	p := runtime.GOMAXPROCS(0)
	if t := int(workers.threads.Load()); t > 0 && t < p {
		return t
	}
	return p
}

// Parallel calls t.Run over disjoint ranges that together cover [0, n) and returns when all are done. Ranges start and end at
// multiples of grain (except at n), and their bounds depend only on n, grain and Threads. The caller works, too. If another
// goroutine or an outer Parallel uses the workers, the ranges run one after another on the caller. Parallel does not allocate.
// A panic of t.Run reaches the caller.
func Parallel(n, grain int, t Task) {
	if n <= 0 {
		return
	}
	if n <= grain { // one range; asking for the number of threads takes a lock
		t.Run(0, n)
		return
	}
	runChunks(n, chunkSize(n, max(grain, 1), Threads()), t)
}

// parallelEach is Parallel for few large pieces of work: every index is a range of its own.
func parallelEach(n int, t Task) {
	if n > 0 {
		runChunks(n, 1, t)
	}
}

// runChunks calls t.Run over ranges of that length, on the workers if they are free.
func runChunks(n, chunk int, t Task) {
	if n <= chunk {
		t.Run(0, n)
		return
	}
	threads := Threads()
	if threads == 1 || !workers.busy.CompareAndSwap(false, true) {
		for lo := 0; lo < n; lo += chunk {
			t.Run(lo, min(lo+chunk, n))
		}
		return
	}
	workers.run(t, n, chunk, threads)
}

// chunkSize returns the length of a range: a multiple of grain that gives every thread a few ranges to take.
func chunkSize(n, grain, threads int) int {
	each := ceilDiv(n, threads*chunksEach)
	return min(ceilDiv(each, grain)*grain, maxChunk(grain))
}

// maxChunk bounds the time between two preemption points of elementwise kernels.
func maxChunk(grain int) int { return max(grain, (1<<14)/grain*grain) }

func (p *pool) run(t Task, n, chunk, threads int) {
	p.ensure(threads - 1)
	p.task, p.n, p.chunk = t, n, chunk
	p.chunks = int64(ceilDiv(n, chunk))
	p.limit = min(int64(threads-1), p.chunks-1)
	p.next.Store(0)
	seq := p.state.Load()&^(jobOpen|joinedMask) + jobSequence
	parked := p.parked.Load()
	cpu := -1
	if parked > 0 || seq/jobSequence%placeEvery == 0 {
		cpu = currentCPU()
	}
	p.cpu.Store(int64(cpu))
	defer p.finish()
	p.state.Store(seq | jobOpen)
	for n := p.limit; n > 0 && p.wakeOne(); n-- {
	}
	p.work(fromFront)
}

// wakeOne wakes one parked worker and reports whether there was one. A worker is woken only once, however long it takes to get
// a CPU, so wake-ups do not pile up.
func (p *pool) wakeOne() bool {
	if !p.unpark() {
		return false
	}
	p.wake <- struct{}{} // has room for all
	return true
}

// unpark decrements the number of parked workers, and reports whether there was one.
func (p *pool) unpark() bool {
	for {
		n := p.parked.Load()
		if n <= 0 {
			return false
		}
		if p.parked.CompareAndSwap(n, n-1) {
			return true
		}
	}
}

// take returns a chunk, or -1. The caller's chunks come from the front and the helpers' from the back, so that in successive
// jobs over the same data each thread finds the data in its cache.
func (p *pool) take(from int64) int64 {
	v := p.next.Add(from)
	front, back := v%fromBack, v/fromBack
	switch {
	case front+back > p.chunks:
		return -1
	case from == fromFront:
		return front - 1
	default:
		return p.chunks - back
	}
}

const (
	fromFront = int64(1)
	fromBack  = int64(1) << 32
)

// work takes chunks until none is left.
func (p *pool) work(from int64) {
	for {
		i := p.take(from)
		if i < 0 {
			return
		}
		lo := int(i) * p.chunk
		p.task.Run(lo, min(lo+p.chunk, p.n))
	}
}

// finish closes the job to new workers, waits for the ones inside and frees the pool.
func (p *pool) finish() {
	p.next.Store(p.chunks) // after a panic in the caller's own chunk nobody starts another
	p.state.And(^jobOpen)
	for i := 0; p.state.Load()&joinedMask != 0; i++ {
		if i >= yieldAtCount {
			yieldCPU()
			runtime.Gosched()
			continue
		}
		pause()
	}
	p.task = nil
	failed := p.failed.Swap(nil)
	p.busy.Store(false)
	if failed != nil {
		panic(failed.value)
	}
}

// ensure starts workers up to n. The caller holds busy.
func (p *pool) ensure(n int) {
	for ; p.started < n; p.started++ {
		p.alive.Add(1)
		go p.worker()
	}
}

// worker joins jobs until StopWorkers. It owns its OS thread, so that moving it to another CPU lasts.
func (p *pool) worker() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer p.alive.Done()
	var last int64
	for !p.stop.Load() {
		s := p.await(last)
		if s == 0 {
			continue
		}
		last = s &^ (jobOpen | joinedMask)
		if cpu := int(p.cpu.Load()); cpu >= 0 {
			leaveCPU(cpu) // before joining, so that the caller does not wait for a thread that waits for a CPU
		}
		if p.join(last) {
			p.help()
		}
	}
}

// help runs chunks of the joined job and leaves it, passing a panic on to the caller.
func (p *pool) help() {
	defer p.state.Add(-1)
	defer func() {
		if v := recover(); v != nil {
			p.failed.CompareAndSwap(nil, &taskPanic{v})
		}
	}()
	p.work(fromBack)
}

// join enters the open job with the given sequence number, and reports whether it could.
func (p *pool) join(sequence int64) bool {
	for {
		s := p.state.Load()
		if s&jobOpen == 0 || s&^(jobOpen|joinedMask) != sequence {
			return false
		}
		if !p.state.CompareAndSwap(s, s+1) {
			continue
		}
		if s&joinedMask >= p.limit {
			p.state.Add(-1)
			return false
		}
		return true
	}
}

// open returns the state if it has an open job other than the last one, else 0.
func (p *pool) open(last int64) int64 {
	s := p.state.Load()
	if s&jobOpen != 0 && s&^(jobOpen|joinedMask) != last {
		return s
	}
	return 0
}

// await looks for a new job for a while, then parks until woken. It returns 0 for nothing.
func (p *pool) await(last int64) int64 {
	for start := time.Now(); time.Since(start) < spinTime; {
		for range 32 {
			if s := p.open(last); s != 0 {
				return s
			}
			pause()
		}
	}
	p.parked.Add(1)
	s := p.open(last)
	if (s != 0 || p.stop.Load()) && p.unpark() {
		return s
	}
	<-p.wake
	return 0
}

// StopWorkers ends all workers and waits for them; the next Parallel starts new ones. It waits for a running Parallel.
func StopWorkers() {
	p := workers
	for !p.busy.CompareAndSwap(false, true) {
		runtime.Gosched()
	}
	p.stop.Store(true)
	for p.wakeOne() {
	}
	p.alive.Wait()
	p.started = 0
	p.stop.Store(false)
	p.busy.Store(false)
}
