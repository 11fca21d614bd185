package coordinator

import (
	"fmt"
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
)

// The header of every frame is one of two protobuf messages, the body is empty:
//
//	message Request {
//	  fixed64 board = 1;      // the Board that is meant, 0: any
//	  string name = 2;        // of a value, a gather, a line of generations
//	  bytes value = 3;
//	  uint64 rank = 4;
//	  uint64 size = 5;
//	  uint64 after = 6;       // NextGeneration
//	  uint64 wait_ms = 7;     // the leader answers by then
//	  bool done = 8;          // Beat
//	  bool knows_stop = 9;    // Beat
//	  double step_secs = 10;  // Beat
//	}
//	message Reply {
//	  fixed64 board = 1;
//	  bool found = 2;             // the value is set, the gather is complete
//	  repeated bytes values = 3;  // Get, Wait: one; Gather, NextGeneration: by rank
//	  repeated uint64 missing = 4; // ranks that have not come, some of them
//	  uint64 generation = 5;
//	  repeated Member members = 6;
//	  string stop = 7;            // Beat
//	}
//	message Member {
//	  string job = 1; uint64 index = 2; fixed64 incarnation = 3;
//	  uint64 rank = 4; uint64 last_seen_ms = 5; uint64 state = 6; double step_secs = 7;
//	}
//
// Fields that are zero are left out; unknown fields are skipped.
type request struct {
	board             uint64
	name              string
	value             []byte
	rank, size, after int64
	wait              time.Duration
	done, knowsStop   bool
	stepSecs          float64
}

type reply struct {
	board      uint64
	found      bool
	values     [][]byte
	missing    []int
	generation int64
	members    []Member
	stop       string
}

// writer appends fields that are not zero.
type writer []byte

func (w *writer) fixed(num protowire.Number, v uint64) {
	if v != 0 {
		*w = protowire.AppendFixed64(protowire.AppendTag(*w, num, protowire.Fixed64Type), v)
	}
}

func (w *writer) number(num protowire.Number, v int64) {
	if v != 0 {
		*w = protowire.AppendVarint(protowire.AppendTag(*w, num, protowire.VarintType), uint64(v))
	}
}

func (w *writer) flag(num protowire.Number, v bool) {
	if v {
		w.number(num, 1)
	}
}

// element appends one of a repeated field, also when it is empty.
func (w *writer) element(num protowire.Number, v []byte) {
	*w = protowire.AppendBytes(protowire.AppendTag(*w, num, protowire.BytesType), v)
}

func (w *writer) text(num protowire.Number, v string) {
	if v != "" {
		w.element(num, []byte(v))
	}
}

func (r *request) marshal() []byte {
	var w writer
	w.fixed(1, r.board)
	w.text(2, r.name)
	if len(r.value) > 0 {
		w.element(3, r.value)
	}
	w.number(4, r.rank)
	w.number(5, r.size)
	w.number(6, r.after)
	w.number(7, r.wait.Milliseconds())
	w.flag(8, r.done)
	w.flag(9, r.knowsStop)
	w.fixed(10, math.Float64bits(r.stepSecs))
	return w
}

func (r *reply) marshal() []byte {
	var w writer
	w.fixed(1, r.board)
	w.flag(2, r.found)
	for _, v := range r.values {
		w.element(3, v)
	}
	for _, rank := range r.missing {
		w = protowire.AppendVarint(protowire.AppendTag(w, 4, protowire.VarintType), uint64(rank))
	}
	w.number(5, r.generation)
	for _, m := range r.members {
		w.element(6, marshalMember(m))
	}
	w.text(7, r.stop)
	return w
}

func marshalMember(m Member) []byte {
	var w writer
	w.text(1, m.Task.Job)
	w.number(2, int64(m.Task.Index))
	w.fixed(3, m.Incarnation)
	w.number(4, int64(m.Rank))
	w.number(5, m.LastSeen.Milliseconds())
	w.number(6, int64(m.State))
	w.fixed(7, math.Float64bits(m.StepSecs))
	return w
}

// field is one field as it came: number holds a varint or a fixed64, bytes the rest.
type field struct {
	num    protowire.Number
	number uint64
	bytes  []byte
}

// integer is a varint of a size that makes sense.
func (f field) integer() (int64, error) {
	if f.number > maxGeneration {
		return 0, fmt.Errorf("%w: field %d is %d, expected at most %d", ErrInvalid, f.num, f.number, int64(maxGeneration))
	}
	return int64(f.number), nil
}

// each calls take for every field of a message whose type on the wire is the one in types.
func each(msg []byte, types map[protowire.Number]protowire.Type, take func(field) error) error {
	for len(msg) > 0 {
		num, typ, n := protowire.ConsumeTag(msg)
		if n < 0 {
			return fmt.Errorf("%w: malformed message: %v", ErrInvalid, protowire.ParseError(n))
		}
		msg = msg[n:]
		f := field{num: num}
		switch typ {
		case protowire.VarintType:
			f.number, n = protowire.ConsumeVarint(msg)
		case protowire.Fixed64Type:
			f.number, n = protowire.ConsumeFixed64(msg)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(msg)
		default:
			n = protowire.ConsumeFieldValue(num, typ, msg)
		}
		if n < 0 {
			return fmt.Errorf("%w: malformed message: field %d: %v", ErrInvalid, num, protowire.ParseError(n))
		}
		msg = msg[n:]
		want, known := types[num]
		if !known {
			continue
		}
		if want != typ {
			return fmt.Errorf("%w: malformed message: field %d has wire type %d, expected %d", ErrInvalid, num, typ, want)
		}
		if err := take(f); err != nil {
			return err
		}
	}
	return nil
}

const (
	varint  = protowire.VarintType
	fixed64 = protowire.Fixed64Type
	chunk   = protowire.BytesType
)

var (
	requestTypes = map[protowire.Number]protowire.Type{1: fixed64, 2: chunk, 3: chunk, 4: varint, 5: varint, 6: varint, 7: varint, 8: varint, 9: varint, 10: fixed64}
	replyTypes   = map[protowire.Number]protowire.Type{1: fixed64, 2: varint, 3: chunk, 4: varint, 5: varint, 6: chunk, 7: chunk}
	memberTypes  = map[protowire.Number]protowire.Type{1: chunk, 2: varint, 3: fixed64, 4: varint, 5: varint, 6: varint, 7: fixed64}
)

// unmarshal sets the fields of r that are in msg.
func (r *request) unmarshal(msg []byte) error {
	return each(msg, requestTypes, func(f field) error {
		var err error
		switch f.num {
		case 1:
			r.board = f.number
		case 2:
			r.name = string(f.bytes)
		case 3:
			r.value = f.bytes
		case 4:
			r.rank, err = f.integer()
		case 5:
			r.size, err = f.integer()
		case 6:
			r.after, err = f.integer()
		case 7:
			r.wait = time.Duration(min(f.number, uint64(maxHold.Milliseconds()))) * time.Millisecond
		case 8:
			r.done = f.number != 0
		case 9:
			r.knowsStop = f.number != 0
		case 10:
			r.stepSecs = math.Float64frombits(f.number)
		}
		return err
	})
}

func (r *reply) unmarshal(msg []byte) error {
	return each(msg, replyTypes, func(f field) error {
		var err error
		switch f.num {
		case 1:
			r.board = f.number
		case 2:
			r.found = f.number != 0
		case 3:
			r.values = append(r.values, f.bytes)
		case 4:
			var rank int64
			rank, err = f.integer()
			r.missing = append(r.missing, int(rank))
		case 5:
			r.generation, err = f.integer()
		case 6:
			var m Member
			m, err = unmarshalMember(f.bytes)
			r.members = append(r.members, m)
		case 7:
			r.stop = string(f.bytes)
		}
		return err
	})
}

func unmarshalMember(msg []byte) (Member, error) {
	var m Member
	var numbers [7]int64
	err := each(msg, memberTypes, func(f field) (err error) {
		switch f.num {
		case 1:
			m.Task.Job = string(f.bytes)
		case 3:
			m.Incarnation = f.number
		case 7:
			m.StepSecs = math.Float64frombits(f.number)
		default:
			numbers[f.num], err = f.integer()
		}
		return err
	})
	m.Peer.Task = cluster.Task{Job: m.Task.Job, Index: int(numbers[2])}
	m.Rank, m.State = int(numbers[4]), State(numbers[6])
	m.LastSeen = time.Duration(min(numbers[5], math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
	return m, err
}
