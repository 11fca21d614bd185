package main

import (
	"fmt"
	"io"
	"net"
	"strings"
)

// psTCP has a plain connection to each server and only copies: the
// upper limit of what sockets carry under that load.
type psTCP map[string][]net.Conn

func connectPSTCP(addresses []string) (psCopier, map[string][]float64, error) {
	m := psTCP{}
	for _, name := range psCases {
		from, n, err := psServers(name)
		if err != nil {
			return m, nil, err
		}
		for _, a := range addresses[from : from+n] {
			c, err := net.Dial("tcp", a)
			if err != nil {
				return m, nil, err
			}
			m[name] = append(m[name], c)
		}
	}
	return m, psReference(), nil // it computes nothing
}

// step receives the model from all servers at once, then sends as many bytes back.
func (m psTCP) step(name string) error {
	conns := m[name]
	if len(conns) == 0 {
		return fmt.Errorf("no case %q", name)
	}
	errs := make(chan error, len(conns))
	for _, way := range []func(net.Conn, int) error{receive, transmit} {
		for _, c := range conns {
			go func() { errs <- way(c, psModelBytes/len(conns)) }()
		}
		for range conns {
			if err := <-errs; err != nil {
				return err
			}
		}
	}
	return nil
}

func (m psTCP) close() {
	for _, conns := range m {
		for _, c := range conns {
			c.Close()
		}
	}
}

// receive reads n bytes into a small buffer.
func receive(c net.Conn, n int) error {
	b := make([]byte, tcpBuffer)
	for n > 0 {
		k, err := c.Read(b[:min(n, len(b))])
		if err != nil {
			return err
		}
		n -= k
	}
	return nil
}

func transmit(c net.Conn, n int) error {
	b := make([]byte, tcpBuffer)
	for ; n > 0; n -= len(b) {
		if _, err := c.Write(b[:min(n, len(b))]); err != nil {
			return err
		}
	}
	return nil
}

// psTCPServer repeatedly sends its share and receives it back.
func psTCPServer(l *link, _ []string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer listener.Close()
	if err := l.send(reply{Version: listener.Addr().String()}); err != nil {
		return err
	}
	c, ok, err := l.next()
	if err != nil || !ok {
		return err
	}
	if err := l.send(reply{}); err != nil {
		return err
	}
	conn, err := listener.Accept()
	if err != nil {
		return err
	}
	defer conn.Close()
	share := psModelBytes / len(strings.Split(c.name, ","))
	for {
		if err := transmit(conn, share); err != nil {
			return nil // the other end has closed
		}
		if err := receive(conn, share); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}
