package lower

import (
	"encoding/binary"

	"github.com/goestimator/goestimator/internal/runtime/engine"
)

// FaultRecord is the first fault that a kernel found, such as an index out of range. See kernels/src/prelude.cu.
type FaultRecord struct {
	Operation             int64 // 1 + the operation's index, 0 for no fault
	Index, Position, Size int64
}

// ReadFault decodes a record of kernels.FaultBytes.
func ReadFault(b []byte) (f FaultRecord) {
	for i, to := range []*int64{&f.Operation, &f.Index, &f.Position, &f.Size} {
		*to = int64(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return f
}

// Faulter is a Step with faults other than indices out of range.
type Faulter interface {
	Fault(f FaultRecord) error
}

// Fault returns a record's fault as an error, nil for no fault. steps are the program's, by operation.
func Fault(f FaultRecord, steps []Step) error {
	if f.Operation == 0 {
		return nil
	}
	at := int(f.Operation - 1)
	var err error = &engine.IndexError{Index: int(f.Index), Position: int(f.Position), Size: int(f.Size)}
	if at >= 0 && at < len(steps) {
		if s, ok := steps[at].(Faulter); ok {
			err = s.Fault(f)
		}
	}
	return &engine.FaultError{Operation: at, Err: err}
}

// Fault implements Faulter.
func (s *step) Fault(f FaultRecord) error {
	if s.fault == nil {
		return &engine.IndexError{Index: int(f.Index), Position: int(f.Position), Size: int(f.Size)}
	}
	return s.fault(f)
}
