package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
)

// wireVersion is the version of everything that tasks exchange. It changes whenever
// tasks of the previous version would misunderstand it: see package wire. Version 3
// has the messages of that schema.
const wireVersion = 3

// greeting is the first message of both ends of a gRPC connection, after the TLS handshake if there is one: "GEH", the version, and the checksum
// of these four bytes.
type greeting [8]byte

func greet(version byte) (g greeting) {
	copy(g[:], "GEH")
	g[3] = version
	binary.LittleEndian.PutUint32(g[4:], checksum(g[:4]))
	return g
}

// ours is the greeting of this version.
var ours = greet(wireVersion)

// whole reports whether this is a greeting of any version.
func (g greeting) whole() bool { return g == greet(g[3]) }

// errVersion is the error for a peer of another version.
func errVersion(version byte) error {
	return fmt.Errorf("it speaks version %d of the protocol between tasks, this task version %d: %s", version, wireVersion, sameVersion)
}

const sameVersion = "run the same version of goestimator in all tasks"

// refusedError is the reason why a peer refuses to talk.
type refusedError struct{ error }

func (e refusedError) Unwrap() error { return e.error }

// greetServer greets a peer and reads its answer. The error wraps a refusedError or
// ErrDamaged if the answer says so.
func greetServer(ctx context.Context, c net.Conn, secured bool) error {
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	_, err := c.Write(ours[:])
	var answer greeting
	n := 0
	if err == nil {
		n, err = io.ReadFull(c, answer[:])
	}
	switch {
	case secured && err != nil: // in TLS 1.3, a server refuses a caller's certificate only at this point
		if why := explainTLS(err); why != nil {
			return refusedError{why}
		}
		return err
	case !secured && n > 0 && answer[0] == recordAlert: // a TLS server's answer to plaintext
		return refusedError{errWantsTLS}
	case err != nil:
		return err
	case answer == ours:
		return nil
	case answer.whole():
		return refusedError{errVersion(answer[3])}
	case [6]byte(answer[2:]) == [6]byte{answer[2], 4}: // the settings frame with which gRPC begins
		return refusedError{errVersion(1)}
	}
	return fmt.Errorf("%w: the answer to the first bytes of a connection is %x, expected %x", ErrDamaged, answer, ours)
}

// opening is the kind of a new connection.
type opening int

const (
	openCalls opening = iota // gRPC, from a task of this version
	openProbe                // gRPC without a greeting: a probe, or a task of another version
	openBulk                 // a bulk connection
)

var errUntrusted = errors.New("its first bytes are no task's, nor a probe's")

// greetClient reads the first bytes of a caller, and answers a task of this
// version. The returned connection repeats a probe's bytes.
func greetClient(c net.Conn) (net.Conn, opening, error) {
	first := make([]byte, 4)
	if _, err := io.ReadFull(c, first); err != nil {
		return c, 0, err
	}
	if string(first) == "PRI " {
		return &prefixedConn{Conn: c, prefix: first}, openProbe, nil
	}
	for p, ok := c.(*prefixedConn); ok; p, ok = c.(*prefixedConn) {
		c = p.Conn // its prefix was read
	}
	if [4]byte(first) == bulkMagic {
		return c, openBulk, nil
	}
	var g greeting
	copy(g[:], first)
	if _, err := io.ReadFull(c, g[4:]); err != nil {
		return c, 0, err
	}
	if g == ours {
		_, err := c.Write(ours[:])
		return c, openCalls, err
	}
	// Another version, or damage: the answer tells the caller.
	err := errUntrusted
	if g.whole() {
		err = errVersion(g[3])
		dismiss(c, ours[:])
	} else {
		dismiss(c, make([]byte, len(ours)))
	}
	return c, 0, err
}
