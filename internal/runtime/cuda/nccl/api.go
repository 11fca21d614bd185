package nccl

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
	"github.com/goestimator/goestimator/tensor"
)

// communicator is ncclComm_t: one rank of a group.
type communicator uintptr

// calls are the functions of NCCL in use.
type calls interface {
	// group makes one operation of f's calls for several ranks. No call in it waits for the others.
	group(f func() error) error
	// enter makes a rank, on the GPU whose context is current. to is valid when the group of calls has ended.
	enter(m membership, to *communicator) error
	allReduce(c communicator, r reduction) error
	// state returns nil if the rank is well, errInProgress while a call of it runs, else its error.
	state(c communicator) error
	// leave ends a rank.
	leave(c communicator, how leaving) error
}

// leaving is a way to end a rank.
type leaving int

const (
	finalize leaving = iota // end its work; when state says that it has, destroy the rank
	destroy                 // a rank of a group in this process, or a finalized rank
	abort                   // at once, with its work in streams
)

// membership describes a rank that enters a group.
type membership struct {
	id          *ID
	rank, total int
	blocking    bool
}

// reduction is a rank's part of a sum, in place.
type reduction struct {
	at     driver.Ptr
	count  int
	dtype  tensor.DType
	stream uintptr
}

var errInProgress = errors.New("in progress")

// native calls the library.
type native struct {
	number int32 // the version: 21005 is 2.10.5

	version, uniqueID, errorString, lastError dylib.Proc
	groupStart, groupEnd, join, reduce        dylib.Proc
	asyncError, finalize, abort, destroy      dylib.Proc
}

func (n *native) symbols() map[string]*dylib.Proc {
	return map[string]*dylib.Proc{
		"ncclGetVersion": &n.version, "ncclGetUniqueId": &n.uniqueID, "ncclGetErrorString": &n.errorString, "ncclGetLastError": &n.lastError,
		"ncclGroupStart": &n.groupStart, "ncclGroupEnd": &n.groupEnd, "ncclCommInitRankConfig": &n.join, "ncclAllReduce": &n.reduce,
		"ncclCommGetAsyncError": &n.asyncError, "ncclCommFinalize": &n.finalize, "ncclCommAbort": &n.abort, "ncclCommDestroy": &n.destroy,
	}
}

// bind loads the library. Its error wraps a *dylib.NotFoundError if there is none, and ErrVersion if it is too old.
func bind(folders ...string) (*native, error) {
	lib, err := dylib.Open(dylib.NCCL, folders...)
	if err != nil {
		return nil, err
	}
	n := &native{}
	var version dylib.Proc
	if err := lib.Bind(map[string]*dylib.Proc{"ncclGetVersion": &version}); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrVersion, err)
	}
	version.Call(uintptr(unsafe.Pointer(&n.number)))
	if n.number < leastVersion {
		return nil, fmt.Errorf("%w, got %d in %s", ErrVersion, n.number, lib.Path())
	}
	return n, lib.Bind(n.symbols())
}

// check turns a function's result into an error. "In progress" is not an error: see state.
func (n *native) check(call string, result uintptr) error {
	r := Result(int32(result))
	if r == 0 || r == ResultInProgress {
		return nil
	}
	e := &Error{Call: call, Result: r, Text: text(n.errorString.Call(uintptr(r)))}
	if last := text(n.lastError.Call(0)); last != "" {
		e.Text += ": " + last
	}
	return e
}

// text copies a C string that the library keeps, "" for NULL.
func text(address uintptr) string {
	if address == 0 {
		return ""
	}
	p := *(*unsafe.Pointer)(unsafe.Pointer(&address)) // C's memory, which the garbage collector does not move
	n := 0
	for *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}

func (n *native) newID() (id ID, err error) {
	err = n.check("ncclGetUniqueId", n.uniqueID.Call(uintptr(unsafe.Pointer(&id))))
	return id, err
}

// group stays on one OS thread, because NCCL identifies groups by thread.
func (n *native) group(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := n.check("ncclGroupStart", n.groupStart.Call()); err != nil {
		return err
	}
	err := f()
	return errors.Join(err, n.check("ncclGroupEnd", n.groupEnd.Call()))
}

func (n *native) enter(m membership, to *communicator) error {
	c := &config{magic: configMagic, version: leastVersion, cluster: undefined, leastCTA: undefined, mostCTA: undefined, splitShare: undefined}
	c.size = uint64(unsafe.Sizeof(*c))
	if m.blocking {
		c.blocking = 1
	}
	return n.check("ncclCommInitRankConfig", n.initRank(to, m, c))
}

func (n *native) allReduce(c communicator, r reduction) error {
	return n.check("ncclAllReduce", n.reduce.Call(uintptr(r.at), uintptr(r.at), uintptr(r.count), types[r.dtype], operationSum, uintptr(c), r.stream))
}

func (n *native) state(c communicator) error {
	r := new(int32)
	if err := n.check("ncclCommGetAsyncError", n.asyncError.Call(uintptr(c), uintptr(unsafe.Pointer(r)))); err != nil {
		return err
	}
	if Result(*r) == ResultInProgress {
		return errInProgress
	}
	return n.check("nccl", uintptr(*r))
}

func (n *native) leave(c communicator, how leaving) error {
	switch how {
	case finalize:
		return n.check("ncclCommFinalize", n.finalize.Call(uintptr(c)))
	case abort:
		return n.check("ncclCommAbort", n.abort.Call(uintptr(c)))
	}
	return n.check("ncclCommDestroy", n.destroy.Call(uintptr(c)))
}
