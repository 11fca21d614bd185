package ps

// ident is in every request of a session: whom the caller believes to talk to.
type ident struct{ incarnation, session uint64 }

func (m *ident) wire(c *coder) {
	c.uint64(&m.incarnation)
	c.uint64(&m.session)
}

// createRequest begins a session: the server makes the units of its share.
type createRequest struct {
	ident         // session: the new one's
	server  int   // which of the plan's servers this one is
	step    int64 // the global step that training goes on from
	replace bool  // end a session that is there
	last    int64 // the global step that training ends at; 0: none is given
	plan    []byte
}

func (m *createRequest) wire(c *coder) {
	m.ident.wire(c)
	c.int(&m.server)
	c.int64(&m.step)
	c.bool(&m.replace)
	c.int64(&m.last)
	c.bytes(&m.plan)
}

// fillHeader comes with bytes of a field of a unit, from offset on.
type fillHeader struct {
	ident
	unit, field, offset int
}

func (m *fillHeader) wire(c *coder) {
	m.ident.wire(c)
	c.int(&m.unit)
	c.int(&m.field)
	c.int(&m.offset)
}

// readyRequest ends the creation of a session.
type readyRequest struct {
	ident
	positions []position
}

// position is a worker's place in its input.
type position struct {
	rank  int
	state []byte
}

func (m *position) wire(c *coder) {
	c.int(&m.rank)
	c.bytes(&m.state)
}

func (m *readyRequest) wire(c *coder) {
	m.ident.wire(c)
	list(c, &m.positions, func(p *position) { p.wire(c) })
}

// statusRequest asks for a statusReply; with wait, once the session is ready or
// the call's time is nearly over.
type statusRequest struct{ wait bool }

func (m *statusRequest) wire(c *coder) { c.bool(&m.wait) }

type statusReply struct {
	ident
	ready  bool
	server int
	digest string
	common []byte // settings of the plan
	last   int64  // as in createRequest
	progress
	done     bool // it is of no use any more
	finished bool // the chief told of the end
	outcome  Outcome
	stats    Stats
}

func (m *statusReply) wire(c *coder) {
	m.ident.wire(c)
	c.bool(&m.ready)
	c.int(&m.server)
	c.string(&m.digest)
	c.bytes(&m.common)
	c.int64(&m.last)
	m.progress.wire(c)
	c.bool(&m.done)
	c.bool(&m.finished)
	m.outcome.wire(c)
	m.stats.wire(c)
}

// progress is in many replies; only server 0 knows it.
type progress struct {
	step   int64
	stop   bool
	reason string
}

func (m *progress) wire(c *coder) {
	c.int64(&m.step)
	c.bool(&m.stop)
	c.string(&m.reason)
}

// pullRequest asks for values that are newer than those the caller has.
type pullRequest struct {
	ident
	transfer transfer
	want     []have
}

type have struct {
	unit    int
	version uint64
}

func (m *pullRequest) wire(c *coder) {
	m.ident.wire(c)
	m.transfer.wire(c)
	list(c, &m.want, func(h *have) { h.wire(c) })
}

func (m *have) wire(c *coder) {
	c.int(&m.unit)
	c.uint64(&m.version)
}

// pullFrame comes with bytes of a unit's value, or ends the answer.
type pullFrame struct {
	unit    int // -1: the end
	version uint64
	offset  int
	progress
}

func (m *pullFrame) wire(c *coder) {
	c.int(&m.unit)
	if m.unit < 0 {
		m.progress.wire(c)
		return
	}
	c.uint64(&m.version)
	c.int(&m.offset)
}

// rowsRequest asks for rows; its body is their numbers within the units, int32,
// in the units' order.
type rowsRequest struct {
	ident
	transfer transfer
	want     []rowCount
}

type rowCount struct{ unit, rows int }

func (m *rowsRequest) wire(c *coder) {
	m.ident.wire(c)
	m.transfer.wire(c)
	list(c, &m.want, func(r *rowCount) { c.int(&r.unit); c.int(&r.rows) })
}

// pushHeader begins a push; the body of the entries follows, one after the
// other, then a frame with a pushEnd.
type pushHeader struct {
	ident
	rank     int
	client   uint64 // of this run of the worker
	sequence uint64 // of the push; the next has a greater one
	step     int64  // the global step that the gradients were computed at
	weight   float64
	transfer transfer
	ask      bool   // for a verdict before the body
	want     []have // values that are to come with the answer, where they are newer
	entries  []entry
	tally    *tallyHeader // to server 0, of a step function; its body follows those of the entries
}

// entry is a value of one unit, or a gradient: what one lookup makes of it, where
// the clip of a synchronous plan is to see each.
type entry struct {
	unit   int
	kind   entryKind
	lookup int
	rows   int // of a sparse gradient: so many int32 row numbers, then the rows
}

type entryKind uint64

const (
	denseGradient entryKind = iota
	sparseGradient
	assignment
	rowsApart // a sparse gradient whose row numbers may repeat: the clip is to see each row
)

// sparse reports whether the entry is rows and their numbers.
func (e *entry) sparse() bool { return e.kind == sparseGradient || e.kind == rowsApart }

func (m *pushHeader) wire(c *coder) {
	m.ident.wire(c)
	c.int(&m.rank)
	c.uint64(&m.client)
	c.uint64(&m.sequence)
	c.int64(&m.step)
	c.float64(&m.weight)
	m.transfer.wire(c)
	c.bool(&m.ask)
	list(c, &m.want, func(h *have) { h.wire(c) })
	list(c, &m.entries, func(e *entry) {
		c.int(&e.unit)
		c.uint64((*uint64)(&e.kind))
		c.int(&e.lookup)
		c.int(&e.rows)
	})
	has := m.tally != nil
	c.bool(&has)
	if has && c.reading {
		m.tally = &tallyHeader{}
	}
	if has {
		m.tally.wire(c)
	}
}

// pushEnd commits a push.
type pushEnd struct{ position []byte }

func (m *pushEnd) wire(c *coder) { c.bytes(&m.position) }

// pushReply is the verdict on a header, and the answer to a pushEnd.
type pushReply struct {
	progress
	stale bool // the gradients were not, and will not be, used
	done  bool // in a verdict: they were used before
}

func (m *pushReply) wire(c *coder) {
	m.progress.wire(c)
	c.bool(&m.stale)
	c.bool(&m.done)
}

// waitRequest waits until the global step is at least step.
type waitRequest struct {
	ident
	step int64
}

func (m *waitRequest) wire(c *coder) {
	m.ident.wire(c)
	c.int64(&m.step)
}

// waitReply tells the progress and, in synchronous plans, whose gradients have come for the step.
type waitReply struct {
	progress
	came []int // ranks
}

func (m *waitReply) wire(c *coder) {
	m.progress.wire(c)
	list(c, &m.came, c.int)
}

// stopRequest asks all to stop.
type stopRequest struct {
	ident
	reason string
}

func (m *stopRequest) wire(c *coder) {
	m.ident.wire(c)
	c.string(&m.reason)
}

// extendRequest puts off the end of training.
type extendRequest struct {
	ident
	last int64 // as in createRequest
}

func (m *extendRequest) wire(c *coder) {
	m.ident.wire(c)
	c.int64(&m.last)
}

// finishRequest ends the servers.
type finishRequest struct {
	ident
	Outcome
}

func (m *finishRequest) wire(c *coder) {
	m.ident.wire(c)
	m.Outcome.wire(c)
}

func (o *Outcome) wire(c *coder) {
	c.string(&o.Reason)
	c.int(&o.Code)
	c.int64(&o.GlobalStep)
}

// fenceRequest is FenceBegin, FenceMark, FenceEnd and Release.
type fenceRequest struct {
	ident
	fence uint64
}

func (m *fenceRequest) wire(c *coder) {
	m.ident.wire(c)
	c.uint64(&m.fence)
}

type fenceReply struct {
	step      int64
	held      int64 // nanoseconds that pushes were held back
	positions []position
}

func (m *fenceReply) wire(c *coder) {
	c.int64(&m.step)
	c.int64(&m.held)
	list(c, &m.positions, func(p *position) { p.wire(c) })
}

// sliceRequest asks for bytes of a field as of a fence.
type sliceRequest struct {
	fenceRequest
	unit, field, offset, length int
}

func (m *sliceRequest) wire(c *coder) {
	m.fenceRequest.wire(c)
	c.int(&m.unit)
	c.int(&m.field)
	c.int(&m.offset)
	c.int(&m.length)
}

// roundRequest is between servers: the gradients of these ranks make the step.
type roundRequest struct {
	ident
	step    int64
	ranks   []int
	factors []float64 // by variable; none: 1
}

func (m *roundRequest) wire(c *coder) {
	m.ident.wire(c)
	c.int64(&m.step)
	list(c, &m.ranks, c.int)
	list(c, &m.factors, c.float64)
}

// normsReply holds the sums of squares of the mean gradients, by variable.
type normsReply struct{ squares []float64 }

func (m *normsReply) wire(c *coder) { list(c, &m.squares, c.float64) }

// nothing is an empty answer.
type nothing struct{}

func (*nothing) wire(*coder) {}
