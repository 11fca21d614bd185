package ps

import (
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/goestimator/goestimator/internal/distributed/wire"
)

// sessionMessage is a request of a session.
type sessionMessage interface {
	proto.Message
	GetId() *wire.SessionID
}

// parse decodes a peer's message.
func parse(header []byte, m proto.Message) error {
	if err := wire.Decode(header, m); err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	return nil
}

// progress is in many replies; only server 0 knows it.
type progress struct {
	step   int64
	stop   bool
	reason string
}

func (p progress) message() *wire.Progress {
	return &wire.Progress{Step: p.step, Stop: p.stop, Reason: p.reason}
}

func (o Outcome) message() *wire.Outcome {
	return &wire.Outcome{Reason: o.Reason, Code: int64(o.Code), GlobalStep: o.GlobalStep}
}

func outcomeOf(m *wire.Outcome) Outcome {
	return Outcome{Reason: m.GetReason(), Code: int(m.GetCode()), GlobalStep: m.GetGlobalStep()}
}

// have is a unit and the caller's version of its value.
type have struct {
	unit    int
	version uint64
}

func versions(want []have) *wire.Versions {
	if len(want) == 0 {
		return nil
	}
	m := &wire.Versions{Unit: make([]int64, len(want)), Version: make([]uint64, len(want))}
	for i, h := range want {
		m.Unit[i], m.Version[i] = int64(h.unit), h.version
	}
	return m
}

// errLengths refuses lists of different lengths that belong together.
var errLengths = errors.New("lists of different lengths")

func versionsOf(m *wire.Versions) ([]have, error) {
	if len(m.GetUnit()) != len(m.GetVersion()) {
		return nil, status.Errorf(codes.InvalidArgument, "versions: %v: %d units, %d versions", errLengths, len(m.GetUnit()), len(m.GetVersion()))
	}
	want := make([]have, len(m.GetUnit()))
	for i := range want {
		want[i] = have{int(m.Unit[i]), m.Version[i]}
	}
	return want, nil
}

// entry is a value of one unit, or a gradient: for one lookup, if the clip of a
// synchronous plan must see each separately.
type entry struct {
	unit   int
	kind   wire.EntryKind
	lookup int
	rows   int // of a sparse gradient: that many int32 row numbers, then the rows
}

const (
	denseGradient  = wire.EntryKind_ENTRY_KIND_DENSE
	sparseGradient = wire.EntryKind_ENTRY_KIND_SPARSE
	assignment     = wire.EntryKind_ENTRY_KIND_ASSIGNMENT
	rowsApart      = wire.EntryKind_ENTRY_KIND_ROWS_APART // the clip must see each row
	addition       = wire.EntryKind_ENTRY_KIND_ADDITION
)

// sparse reports whether the entry is rows and their numbers.
func (e *entry) sparse() bool { return e.kind == sparseGradient || e.kind == rowsApart }

// value reports whether the entry is assigned or added to a value, rather than a gradient.
func (e *entry) value() bool { return e.kind == assignment || e.kind == addition }

func entriesMessage(list []entry) *wire.Entries {
	m := &wire.Entries{Unit: make([]int64, len(list)), Kind: make([]wire.EntryKind, len(list)), Lookup: make([]int64, len(list)), Rows: make([]int64, len(list))}
	for i, e := range list {
		m.Unit[i], m.Kind[i], m.Lookup[i], m.Rows[i] = int64(e.unit), e.kind, int64(e.lookup), int64(e.rows)
	}
	return m
}

func entriesOf(m *wire.Entries) ([]entry, error) {
	n := len(m.GetUnit())
	if len(m.GetKind()) != n || len(m.GetLookup()) != n || len(m.GetRows()) != n {
		return nil, status.Errorf(codes.InvalidArgument, "entries: %v: %d units, %d kinds, %d lookups, %d rows", errLengths, n, len(m.GetKind()), len(m.GetLookup()), len(m.GetRows()))
	}
	list := make([]entry, n)
	for i := range list {
		list[i] = entry{int(m.Unit[i]), m.Kind[i], int(m.Lookup[i]), int(m.Rows[i])}
	}
	return list, nil
}

// transferOf checks the type of a message's elements.
func transferOf(t wire.Transfer) (transfer, error) {
	switch t {
	case wire.Transfer_TRANSFER_FLOAT32, wire.Transfer_TRANSFER_BFLOAT16, wire.Transfer_TRANSFER_FLOAT16:
		return transfer(t), nil // the numbers are tensor.DType's
	}
	return 0, status.Error(codes.InvalidArgument, fmt.Sprintf("transfer type %d: expected float32, bfloat16 or float16", t))
}

func ints(list []int64) []int {
	out := make([]int, len(list))
	for i, x := range list {
		out[i] = int(x)
	}
	return out
}

func int64s(list []int) []int64 {
	out := make([]int64, len(list))
	for i, x := range list {
		out[i] = int64(x)
	}
	return out
}
