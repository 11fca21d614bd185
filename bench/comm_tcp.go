package main

import (
	"fmt"
	"io"
	"net"
)

// tcpMember sends to the next process of the ring, and receives from the previous one,
// as many bytes as an all-reduce, and does nothing else. This is the upper limit of what
// sockets carry under that load.
type tcpMember struct {
	next, previous map[int]net.Conn // by the number of processes
	out, in        []byte
}

// tcpBuffer is the number of bytes in one read or write.
const tcpBuffer = 256 << 10

func connectTCP(rank int, l net.Listener, addresses []string) (ringMember, map[string][]float64, error) {
	m := &tcpMember{map[int]net.Conn{}, map[int]net.Conn{}, make([]byte, tcpBuffer), make([]byte, tcpBuffer)}
	for _, n := range []int{2, 4} {
		if rank >= n {
			continue
		}
		c, err := net.Dial("tcp", addresses[(rank+1)%n])
		if err != nil {
			return nil, nil, err
		}
		if _, err := c.Write([]byte{byte(n)}); err != nil {
			return nil, nil, err
		}
		m.next[n] = c
	}
	for range m.next {
		c, err := l.Accept()
		if err != nil {
			return nil, nil, err
		}
		var n [1]byte
		if _, err := io.ReadFull(c, n[:]); err != nil {
			return nil, nil, err
		}
		m.previous[int(n[0])] = c
	}
	return m, ringReference(), nil // it computes nothing
}

func (m *tcpMember) run(c command) error {
	n, bytes, err := parseRing(c.name)
	if err != nil {
		return err
	}
	if m.next[n] == nil || m.previous[n] == nil {
		return fmt.Errorf("case %q: no connection", c.name)
	}
	bytes = bytes / n * 2 * (n - 1)
	for range c.steps {
		sent := make(chan error, 1)
		go func() {
			for left := bytes; left > 0; left -= tcpBuffer {
				if _, err := m.next[n].Write(m.out[:min(left, tcpBuffer)]); err != nil {
					sent <- err
					return
				}
			}
			sent <- nil
		}()
		for left := bytes; left > 0; left -= tcpBuffer {
			if _, err := io.ReadFull(m.previous[n], m.in[:min(left, tcpBuffer)]); err != nil {
				return err
			}
		}
		if err := <-sent; err != nil {
			return err
		}
	}
	return nil
}

func (m *tcpMember) close() {
	for n := range m.next {
		m.next[n].Close()
		m.previous[n].Close()
	}
}
